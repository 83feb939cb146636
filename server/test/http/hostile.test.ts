import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sendHostileRequests } from '../../torture/hostile.ts';
import { MalformedResponse, parseResponses } from '../../torture/support/raw-responses.ts';
import { onEveryEngine, shortOrLong } from '../support/harness.ts';

onEveryEngine('hostile input', (engine) => {
  it('thousands of generated requests do no harm', async () => {
    const seed = 1;
    const output: string[] = [];
    const log = (line: string) => void output.push(line);
    const findings = await sendHostileRequests({
      engine,
      requests: shortOrLong(2_000, 50_000),
      connections: 12,
      seed,
      stalled: 0,
      warmUp: 0,
      log,
    });
    for (const { holds, promise, measured } of findings)
      assert.ok(holds, `${promise}: ${measured}\n${output.join('\n')}`);
    assert.equal(findings.length, 6);
  });
});

it('raw HTTP responses are parsed exactly', () => {
  const length = 'HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 2\r\n\r\nab';
  const chunks = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n';
  const interim = 'HTTP/1.1 100 Continue\r\n\r\n';
  const notModified = 'HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n';
  const unframed = 'HTTP/1.1 200 OK\r\n\r\nto the end';
  const read = (text: string, head = -1, isOver = true) => {
    const { responses, rest } = parseResponses(Buffer.from(text), (index) => index === head, isOver);
    return [...responses.map(({ status, body }) => `${status} ${body}`), rest.length];
  };
  assert.deepEqual(read(length + chunks + interim + notModified + length), ['200 ab', '200 abc', '304 ', '200 ab', 0]);
  assert.deepEqual(read(length.slice(0, -2) + chunks, 0), ['200 ', '200 abc', 0]);
  assert.deepEqual(read(length + unframed), ['200 ab', '200 to the end', 0]);
  assert.deepEqual(read(length + unframed, -1, false), ['200 ab', unframed.length]);
  for (const complete of [length, chunks])
    for (let end = 1; end < complete.length; end += 1) assert.deepEqual(read(complete.slice(0, end)), [end]);
  for (const bad of [
    `x${length}`,
    length.replace('2', '-2'),
    chunks.replace('\r\n1', 'x\r\n1'),
    length.replace('b', '\0'),
  ])
    assert.throws(() => read(bad), MalformedResponse);
});

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { checkExchange } from '../../../experiments/hostile/check-exchange.ts';
import { type Exchange, encodeRequest } from '../../../experiments/hostile/exchange.ts';
import { makeHostileFixture } from '../../../experiments/hostile/fixture.ts';
import { RequestGenerator } from '../../../experiments/hostile/generator.ts';
import { type Operation, operations } from '../../../experiments/hostile/operations.ts';
import { sendHostileRequests } from '../../../experiments/hostile.ts';
import { Random } from '../../../experiments/support/random.ts';
import { MalformedResponse, parseResponses } from '../../../experiments/support/raw-responses.ts';
import { overloaded } from '../../src/domain/errors.ts';
import { onOneEngine } from '../support/harness.ts';
import { itLong } from '../support/long.ts';

onOneEngine('hostile input', (engine) => {
  itLong('generated requests do no harm', async () => {
    const seed = 1;
    const output: string[] = [];
    const log = (line: string) => void output.push(line);
    const findings = await sendHostileRequests({
      engine,
      requests: 15_000,
      connections: 12,
      seed,
      stalled: 0,
      warmUp: 0,
      log,
    });
    for (const { holds, promise, measured } of findings)
      assert.ok(holds, `${promise}: ${measured}\n${output.join('\n')}`);
    assert.equal(findings.length, 7);
  });
});

it('each operation also gets valid requests, whose rejection is a fault', () => {
  const source = { seed: 1, fixture: makeHostileFixture(2_000), knownResponses: [] };
  const isPathOf = ({ path }: Operation, target: string) =>
    new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}(\\?.*)?$`).test(target);
  const checked = new Set<Operation>();
  const generator = new RequestGenerator(new Random(1), source, 1);
  for (let times = 0; times < 3_000; times += 1) {
    const { method, path, faultOf } = times % 2 === 0 ? generator.validWrite() : generator.validOperation();
    const operation = operations.find((one) => one.method === method && isPathOf(one, path));
    assert.ok(operation, `${method} ${path}`);
    const response = (status: number) => ({ status, headers: {}, body: Buffer.from('') });
    for (const status of operation.successes) assert.equal(faultOf?.(response(status)), undefined);
    if (faultOf?.(response(404)) !== undefined && faultOf?.(response(400)) !== undefined) checked.add(operation);
  }
  const unchecked = operations.filter((one) => !checked.has(one)).map(({ method, path }) => `${method} ${path}`);
  // One is not supported, one needs the cookie of a session; an export is requested rarely. The records have no person and no item.
  const known = ['GET /v1/messages/{message_id}/suggested', 'GET /admin/records', 'GET /console/session'];
  assert.deepEqual(
    unchecked.filter((one) => !known.includes(one) && !/\{(?:person_id|item_id)\}/.test(one)),
    [],
  );
});

it('only the 503 of an overloaded service is no fault', () => {
  const parts = { method: 'GET', target: '/health/live', headers: [] };
  const path = parts.target;
  const request = { description: 'read', bytes: encodeRequest(parts), method: 'GET', path, id: 'r-1' };
  const faultOf = () => 'not the known response';
  const exchange: Exchange = {
    requests: [{ ...request, expectation: 'handled', faultOf }],
    pace: 'whole',
    end: 'close',
    localAddress: '127.0.0.1',
  };
  const check = (status: number, message: string, header: string) => {
    const body = JSON.stringify({ status, code: overloaded.code, message });
    const head = `HTTP/1.1 ${status} x\r\nX-Request-Id: r-1\r\nContent-Type: application/json; charset=utf-8`;
    const bytes = Buffer.from(`${head}\r\n${header}Content-Length: ${body.length}\r\n\r\n${body}`);
    const { faults, overloadCount } = checkExchange(exchange, { bytes, millis: 1, isTimedOut: false });
    return [overloadCount, faults.some((fault) => /a server error/.test(fault)), faults.length > 0];
  };
  const retry = 'Retry-After: 1\r\n';
  assert.deepEqual(check(503, overloaded.message, retry), [1, false, false]);
  assert.deepEqual(check(503, 'the database is busy with a long write, try again', retry), [1, false, false]);
  assert.deepEqual(check(503, overloaded.message, ''), [0, true, true]);
  assert.deepEqual(check(503, 'the database is unavailable', retry), [0, true, true]);
  assert.deepEqual(check(500, overloaded.message, retry), [0, true, true]);
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

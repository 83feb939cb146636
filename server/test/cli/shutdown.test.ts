import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { stopUnderLoad } from '../../../experiments/shutdown.ts';
import { encodeRequest, RawConnection } from '../../../experiments/support/raw-connection.ts';
import { limits } from '../../src/contract/limits.ts';
import { newFolder, serve } from '../support/cli-helpers.ts';
import { onOneEngine } from '../support/harness.ts';
import { itLong } from '../support/long.ts';
import { until } from '../support/until.ts';

describe('shutdown', () => {
  it('responds to all pipelined requests of a connection, however long they wait for their turn', async (t) => {
    const cwd = await newFolder(t);
    const serving = await serve(t, { cwd });
    const connection = await RawConnection.open(Number(new URL(serving.base).port));
    const request = encodeRequest('GET', '/v1/messages?conversation_id=1', 'none');
    connection.write(request);
    assert.ok('status' in (await connection.nextResponse()));
    const requests = 3_000;
    const responses = Array.from({ length: requests }, () => connection.nextResponse());
    serving.signal('SIGTERM');
    connection.write(request.repeat(requests));
    const received = (await Promise.all(responses)).filter((response) => 'status' in response);
    assert.equal(received.length, requests);
    assert.equal((await serving.ended).code, 0);
  });

  itLong('responds to a request that arrived while the process stood still', async (t) => {
    const cwd = await newFolder(t);
    for (;;) {
      const serving = await serve(t, { cwd });
      const connection = await RawConnection.open(Number(new URL(serving.base).port));
      const request = encodeRequest('GET', '/health/live', 'none');
      connection.write(request);
      assert.ok('status' in (await connection.nextResponse()));
      serving.signal('SIGTERM');
      await until(() => serving.output().includes('shutting down'), serving.output);
      serving.signal('SIGSTOP');
      await sleep(50);
      // On a busy machine the process may have stood still too late: the connection was idle for long enough to be closed.
      const wasClosed = connection.closed !== undefined;
      connection.write(request);
      await sleep(limits.lingerMillis);
      serving.signal('SIGCONT');
      const response = await connection.nextResponse();
      assert.equal((await serving.ended).code, 0);
      if (wasClosed) continue;
      assert.ok('status' in response && response.headers.connection === 'close', JSON.stringify(response));
      return;
    }
  });
});

onOneEngine('shutdown under load', (engine) => {
  // In `npm test`, cli.test.ts ends a service with requests in flight.
  itLong('completes every request on an open connection, then exits with 0', async (t) => {
    const findings = await stopUnderLoad(engine, { rounds: 15 });
    for (const { promise, measured } of findings) t.diagnostic(`${promise}: ${measured}`);
    assert.ok(findings.length >= 5);
    assert.deepEqual(
      findings.filter(({ holds }) => !holds),
      [],
    );
  });
});

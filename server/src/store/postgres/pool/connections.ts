import { connect } from 'node:net';
import { hostname } from 'node:os';
import type pg from 'pg';
import type { Reader, Value } from '../../base/engine.ts';
import type { Breaker, Probe } from './breaker.ts';
import { type Driven, drivenOf } from './driven.ts';
import { isSilence } from './errors.ts';
import type { Hosts } from './hosts.ts';

/** CancelRequest: https://www.postgresql.org/docs/current/protocol-message-formats.html */
const cancelRequestCode = 80_877_102;
const cancelMillis = 1_000;
const cancelAttempts = 5;

/** Runs statements with `$1`, `$2`, … for their parameters. */
export function readerOn(client: Pick<pg.Client, 'query'>, millis: number): Reader {
  return async <R>(text: string, ...values: Value[]) => {
    const query = { text, values, query_timeout: millis };
    return (await client.query(query)).rows as R[];
  };
}

/** The connections of a process have one name, which no other process has; PostgreSQL cuts it off after 63 bytes. */
export const applicationName = `backscroll ${process.pid} ${hostname()}`;

/** Each server is tried once, on a new connection: after a failover, another one may respond. */
export function newProbe(hosts: Hosts, millis: number): Probe {
  const Client = hosts.clientClass(millis * hosts.count) as unknown as new (config: pg.ClientConfig) => pg.Client;
  return async (work) => {
    for (let server = 1; ; server += 1) {
      const client = new Client({ application_name: applicationName });
      client.on('error', () => undefined);
      try {
        await new Promise<void>((resolve, reject) =>
          client.connect((error?: Error | null) => (error ? reject(error) : resolve())),
        );
        return await work(readerOn(client, millis));
      } catch (error) {
        if (server === hosts.count || !isSilence(error)) throw error;
      } finally {
        drivenOf(client).connection.stream.destroy();
      }
    }
  };
}

/** Waits until the deadline. A connection that comes later goes back to the pool. */
export async function waitUntil(
  deadline: number,
  connecting: Promise<pg.PoolClient>,
  breaker: Breaker,
): Promise<pg.PoolClient> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const fail = () => reject(new Error('timeout exceeded when trying to connect'));
  const timer = setTimeout(fail, deadline - performance.now());
  try {
    return await Promise.race([breaker.waitFor(connecting), late]);
  } catch (error) {
    connecting.then(
      (client) => client.release(),
      () => undefined,
    );
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * A write that failed with 503 must not take effect later, so it is cancelled, on a separate connection. A request to cancel
 * may be lost, so it is repeated, unless the connection is used again: the pool closes one whose statement has not ended.
 * Returns whether there was a statement to cancel.
 */
export function cancel(client: pg.PoolClient): boolean {
  const driven = drivenOf(client);
  const cancelled = driven._getActiveQuery();
  // The statement was not sent, or has ended.
  if (cancelled === null) return false;
  const send = (attempts: number) => {
    if (attempts === 0 || (driven._getActiveQuery() !== cancelled && !driven.connection.stream.destroyed)) return;
    sendCancel(driven);
    setTimeout(send, cancelMillis, attempts - 1).unref();
  };
  send(cancelAttempts);
  return true;
}

function sendCancel({ host, port, processID, secretKey }: Driven): void {
  const request = Buffer.alloc(16);
  for (const [index, field] of [16, cancelRequestCode, Number(processID), Number(secretKey)].entries()) {
    request.writeInt32BE(field | 0, index * 4);
  }
  const isLocal = `${host}`.startsWith('/');
  const socket = isLocal ? connect(`${host}/.s.PGSQL.${port}`) : connect(Number(port), `${host}`);
  socket.setTimeout(cancelMillis, () => socket.destroy());
  socket.on('error', () => undefined).end(request);
}

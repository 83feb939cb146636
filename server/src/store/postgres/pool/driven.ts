import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type pg from 'pg';

/** What the driver has of a connection without saying so in its types. It emits an event for each message that it receives. */
export type Driven = {
  host: string;
  port: number;
  processID: number;
  secretKey: number;
  connection: EventEmitter & { stream: Socket; attachListeners(stream: EventEmitter): void };
  _getActiveQuery(): unknown;
};

export const drivenOf = (client: pg.Client | pg.PoolClient): Driven => client as unknown as Driven;

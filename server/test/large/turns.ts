import { readFileSync } from 'node:fs';
import { StatementSync } from 'node:sqlite';
import { mock, type TestContext } from 'node:test';

/** What the statements of this thread read in an embedded database: the bytes of all texts, and the most in one turn of the event loop. */
export type Turns = { bytes: number; largestTurn: number };

type Input = Parameters<StatementSync['all']>;

const bytesOf = (row: object | undefined): number =>
  Object.values(row ?? {}).reduce<number>((sum, value) => {
    if (typeof value === 'string') return sum + Buffer.byteLength(value);
    return value instanceof Uint8Array ? sum + value.length : sum;
  }, 0);

/** Counts until the test ends. */
export function countTurns(t: TestContext): Turns {
  const turns: Turns = { bytes: 0, largestTurn: 0 };
  let turn = 0;
  const add = (row: object | undefined) => {
    if (turn === 0) setImmediate(() => (turn = 0));
    const bytes = bytesOf(row);
    turn += bytes;
    turns.bytes += bytes;
    turns.largestTurn = Math.max(turns.largestTurn, turn);
  };
  const { all, get, iterate } = StatementSync.prototype;
  const mocks = [
    mock.method(StatementSync.prototype, 'all', function (this: StatementSync, ...values: Input) {
      const rows = all.call(this, ...values);
      for (const row of rows) add(row);
      return rows;
    }),
    mock.method(StatementSync.prototype, 'get', function (this: StatementSync, ...values: Input) {
      const row = get.call(this, ...values);
      add(row);
      return row;
    }),
    mock.method(StatementSync.prototype, 'iterate', function (this: StatementSync, ...values: Input) {
      return iterate.call(this, ...values).map((row) => {
        add(row);
        return row;
      });
    }),
  ];
  t.after(() => {
    for (const { mock: one } of mocks) one.restore();
  });
  return turns;
}

/** What this thread has read from files that are not mapped into its memory, and from connections. 0 if the system does not count it. */
export function bytesRead(): number {
  if (process.platform !== 'linux') return 0;
  return Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/thread-self/io', 'utf8'))?.[1]);
}

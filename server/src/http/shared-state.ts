import { randomUUID } from 'node:crypto';
import { Failures } from './observe/failures.ts';
import { SeriesTable } from './observe/series-table.ts';
import { Traffic } from './observe/traffic.ts';
import { UnstoredDoubts } from './upstream/unstored-doubts.ts';
import type { SharedState } from './workers/context.ts';
import { SharedSum } from './workers/shared-sum.ts';
import { SlowReaders } from './workers/slow-readers.ts';
import { WindowCounter } from './workers/window-counter.ts';

/**
 * Most of this memory is never used: the operating system provides it page by page, when it is first written.
 * `droppedLogLines`: where the log counts them.
 */
export function createSharedState(
  workers: number,
  droppedLogLines = new SharedArrayBuffer(Uint32Array.BYTES_PER_ELEMENT),
): SharedState {
  return {
    workers,
    droppedLogLines,
    channel: `backscroll-${randomUUID()}`,
    connections: new SharedArrayBuffer(SharedSum.bytes(workers)),
    inFlight: new SharedArrayBuffer(SharedSum.bytes(workers)),
    waiting: new SharedArrayBuffer(SharedSum.bytes(workers)),
    passedOn: new SharedArrayBuffer(SharedSum.bytes(workers)),
    unstoredDoubts: new SharedArrayBuffer(UnstoredDoubts.bytes(workers)),
    slowReaders: new SharedArrayBuffer(SlowReaders.bytes(workers)),
    failedKeys: WindowCounter.create(),
    rejectedKeys: WindowCounter.create(),
    requestLimit: WindowCounter.create(),
    writeLimit: WindowCounter.create(),
    outages: WindowCounter.create(),
    series: new SharedArrayBuffer(SeriesTable.bytes(workers)),
    traffic: new SharedArrayBuffer(Traffic.bytes(workers)),
    failures: new SharedArrayBuffer(Failures.bytes(workers)),
  };
}

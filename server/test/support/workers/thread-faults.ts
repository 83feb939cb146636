import { subscribe } from 'node:diagnostics_channel';
import { existsSync, writeFileSync } from 'node:fs';
import { Server } from 'node:net';
import { StatementSync } from 'node:sqlite';
import { isMainThread, workerData } from 'node:worker_threads';

/** Loaded into every thread of a service with `--import`: ends or pauses threads on request, so that tests can see what happens then. */

/** Pauses the thread until the file is removed. While it is paused, another file exists. */
function hold(file: string): void {
  writeFileSync(`${file}-paused`, '');
  while (existsSync(file)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
}

const isWriter = !isMainThread && 'path' in (workerData ?? {});
const isWorker = !isMainThread && 'worker' in (workerData ?? {});

if (isWriter) {
  const { run } = StatementSync.prototype;
  StatementSync.prototype.run = function (...values) {
    if (values.includes('crash the writer')) process.exit(1);
    if (values.includes('hold the writer')) hold(process.env.TEST_HOLD_FILE ?? '');
    return run.apply(this, values as never);
  };
}
if (isWorker) {
  subscribe('http.server.request.start', (event) => {
    const { request } = event as { request: { url: string } };
    if (!request.url.includes('crash=worker')) return;
    setImmediate(() => {
      throw new Error('a test ends the worker');
    });
  });
}
if (process.env.TEST_NO_REUSE_PORT) {
  const { listen } = Server.prototype;
  Server.prototype.listen = function (this: Server, options: { reusePort?: boolean }, ...rest: never[]) {
    if (!options.reusePort) return listen.call(this, options, ...rest);
    setImmediate(() => this.emit('error', Object.assign(new Error('not supported'), { code: 'ENOTSUP' })));
    return this;
  } as typeof listen;
}

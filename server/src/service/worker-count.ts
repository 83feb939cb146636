import { once } from 'node:events';
import { createServer, type ListenOptions } from 'node:net';
import { availableParallelism } from 'node:os';
import type { FastifyBaseLogger } from 'fastify';
import { BadSetting, type Config } from '../config.ts';
import type { Database } from '../store/open.ts';

/** Workers that `WORKERS=auto` starts at most. */
const autoWorkersMax = 4;

/** The number of workers to start: as configured, or less where that is not possible. */
export async function workerCount(
  { workers, database_pool }: Config,
  { engine }: Database,
  logger: FastifyBaseLogger,
): Promise<number> {
  // Each worker needs a connection to the database.
  const max = engine === 'postgres' ? database_pool : Number.POSITIVE_INFINITY;
  if (workers !== 'auto' && workers > max) {
    throw new BadSetting(`WORKERS=${workers}: must be at most DATABASE_POOL, which is ${database_pool}`);
  }
  const count = workers === 'auto' ? Math.min(availableParallelism(), autoWorkersMax, max) : workers;
  if (count === 1 || (await canSharePort())) return count;
  logger.info('there is one worker: this operating system cannot share a port between threads');
  return 1;
}

/** Not on macOS and Windows: https://nodejs.org/api/net.html#serverlistenoptions-callback */
async function canSharePort(): Promise<boolean> {
  try {
    await tryListening({ host: '127.0.0.1', port: 0, reusePort: true });
    return true;
  } catch {
    return false;
  }
}

/** Listens for a moment. Throws if that is not possible. */
export async function tryListening(options: ListenOptions): Promise<void> {
  const server = createServer();
  server.listen(options);
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}

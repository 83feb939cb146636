import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../../contract/limits.ts';

type Reads = Readonly<Record<string, Promise<unknown> | undefined>>;
type Results<R extends Reads> = { [N in keyof R]: Awaited<R[N]> | undefined };

/** Undefined for what the database does not return soon. Then the other values are needed most. */
export async function allInTime<R extends Reads>(reads: R): Promise<Results<R>> {
  const late = sleep(limits.metricsMillisMax, undefined, { ref: false });
  const results = Object.entries(reads).map(async ([name, read]) => {
    return [name, read && (await Promise.race([read.catch(() => undefined), late]))];
  });
  return Object.fromEntries(await Promise.all(results));
}

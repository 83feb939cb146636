import { createSharedState } from '../../../src/http/shared-state.ts';
import { contextOf } from '../../../src/http/workers/context.ts';

/** What the workers of one service share, and the context of each. `replace` is the context of one that was started again. */
export function newWorkers(count: number) {
  const shared = createSharedState(count);
  const replace = (worker: number) => contextOf(shared, worker);
  return { shared, contexts: Array.from({ length: count }, (_, worker) => replace(worker)), replace };
}

/** The context of the only worker of a service. */
export const onlyWorker = () => contextOf(createSharedState(1), 0);

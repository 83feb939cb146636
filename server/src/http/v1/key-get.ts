import type { TObject, TSchema } from 'typebox';
import type { KeyKind } from '../../contract/key-kinds.ts';
import type { JsonBody } from '../../domain/render-list.ts';
import { addOperation, type Operation } from '../operation.ts';
import { sendJson } from '../response/large-page.ts';
import type { App, Dependencies } from '../route-types.ts';

type Get<K extends KeyKind, P extends TObject, Q extends TObject> = Operation<K, P, Q, TSchema>;

/** Adds an operation for keys of these kinds. Its `read` returns the text of the response. */
export function keyGet<K extends KeyKind, P extends TObject, Q extends TObject>(
  app: App,
  dependencies: Dependencies,
  kinds: readonly K[],
  {
    read,
    ...operation
  }: Omit<Get<K, P, Q>, 'run'> & { read: (request: Parameters<Get<K, P, Q>['run']>[0]) => Promise<JsonBody> },
): void {
  const run: Get<K, P, Q>['run'] = async (request, reply) => sendJson(reply, await read(request));
  addOperation(app, dependencies, kinds, { ...operation, run });
}

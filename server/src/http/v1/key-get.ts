import type { TObject, TSchema } from 'typebox';
import type { KeyKind } from '../../contract/key-kinds.ts';
import type { JsonBody } from '../../domain/render-list.ts';
import { type Operation, operation } from '../operation.ts';
import { sendJson } from '../response/large-page.ts';
import type { Routes } from '../route-types.ts';

type Get<K extends KeyKind, P extends TObject, Q extends TObject> = Operation<K, P, Q, TSchema>;
type Described<K extends KeyKind, P extends TObject, Q extends TObject> = Omit<Get<K, P, Q>, 'run'> & {
  read: (request: Parameters<Get<K, P, Q>['run']>[0]) => Promise<JsonBody>;
};

/** An operation for keys of these kinds. Its `read` returns the text of the response. */
export const keyGet = <K extends KeyKind, P extends TObject, Q extends TObject>(
  kinds: readonly K[],
  { read, ...described }: Described<K, P, Q>,
): Routes => operation(kinds, { ...described, run: async (request, reply) => sendJson(reply, await read(request)) });

import type { TObject, TSchema } from 'typebox';
import { ListQuery, listOf } from '../../contract/admin.ts';
import { Type } from '../../contract/type.ts';
import type { CursorPage } from '../../domain/paging.ts';
import { addOperation, type Operation } from '../operation.ts';
import type { App, Dependencies } from '../route-types.ts';

type Get<P extends TObject, Q extends TObject> = Operation<'admin', P, Q, TSchema>;

/** `Q` of a list must have the fields of `ListQuery` too. */
type ListRoute<P extends TObject, Q extends TObject> = Omit<Get<P, Q>, 'response' | 'run'> & {
  row: TSchema;
  run: (...request: Parameters<Get<P, Q>['run']>) => Promise<CursorPage<unknown>>;
};

/** A parameter is rejected rather than ignored. */
const noParameters = Type.Object({});

/**
 * Adds an operation that returns one object. Its `run` throws `notFound` if there is none.
 *
 * @example
 * adminGet(app, dependencies, {
 *   url: '/admin/apps/:app_id',
 *   operationId: 'getApp',
 *   summary: 'Get an app',
 *   params: Type.Object({ app_id }),
 *   response: AppListed,
 *   errors: [404],
 *   run: ({ params }) => requireApp(store, params.app_id),
 * });
 */
export function adminGet<P extends TObject, Q extends TObject = typeof noParameters>(
  app: App,
  dependencies: Dependencies,
  route: Get<P, Q>,
): void {
  addOperation(app, dependencies, ['admin'], { querystring: noParameters as TObject as Q, ...route });
}

/** Adds an operation that returns one page of a list. */
export function adminList<P extends TObject, Q extends TObject = typeof ListQuery>(
  app: App,
  dependencies: Dependencies,
  { row, ...route }: ListRoute<P, Q>,
): void {
  addOperation(app, dependencies, ['admin'], {
    querystring: ListQuery as TObject as Q,
    ...route,
    response: listOf(row),
  });
}

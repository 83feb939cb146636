import type { TObject, TSchema } from 'typebox';
import { ListQuery, listOf } from '../../contract/admin.ts';
import { Type } from '../../contract/type.ts';
import type { CursorPage } from '../../domain/paging.ts';
import { type Operation, operation } from '../operation.ts';
import type { Routes } from '../route-types.ts';

type Get<P extends TObject, Q extends TObject> = Operation<'admin', P, Q, TSchema>;

/** `Q` of a list must have the fields of `ListQuery` too. */
type ListRoute<P extends TObject, Q extends TObject> = Omit<Get<P, Q>, 'response' | 'run'> & {
  row: TSchema;
  run: (...request: Parameters<Get<P, Q>['run']>) => Promise<CursorPage<unknown>>;
};

export const conversationUrl = '/admin/apps/:app_id/conversations/:conversation_id';
export const messageUrl = `${conversationUrl}/messages/:message_id`;

/** A parameter is rejected rather than ignored. */
const noParameters = Type.Object({});

/** An operation that returns one object. Its `run` throws `notFound` if there is none. */
export const adminObject = <P extends TObject, Q extends TObject = typeof noParameters>(
  operationId: string,
  url: string,
  route: Get<P, Q>,
): Routes => operation(operationId, ['admin'], 'GET', url, { querystring: noParameters as TObject as Q, ...route });

/** An operation that returns one page of a list. */
export const adminPage = <P extends TObject, Q extends TObject = typeof ListQuery>(
  operationId: string,
  url: string,
  { row, ...route }: ListRoute<P, Q>,
): Routes => adminObject(operationId, url, { querystring: ListQuery as TObject as Q, ...route, response: listOf(row) });

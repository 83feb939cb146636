import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate as nextTick } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ChangePage, ChangesQuery, changeKinds } from '../../contract/change.ts';
import { limits } from '../../contract/limits.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { Type } from '../../contract/type.ts';
import type { Caller, CallerOf } from '../../domain/caller.ts';
import { type ChangePlace, type ChangePage as Page, startOf } from '../../domain/changes/changes.ts';
import { followChanges } from '../../domain/changes/follow-changes.ts';
import { clientDisconnected, unavailable } from '../../domain/errors.ts';
import { joinTexts, openText } from '../../domain/large-text.ts';
import { parseKinds } from '../../domain/records/parse-kinds.ts';
import type { ChangeScope, ChangeSelection } from '../../domain/store/change-reads.ts';
import { leaveGate } from '../front/gate.ts';
import { operation } from '../operation.ts';
import { sendLargePage } from '../response/large-page.ts';
import type { Dependencies } from '../route-types.ts';

/** Entries that a stream reads at once, unless one entry is larger. */
const changesStreamBytesMax = 262_144;

/** While a stream is open, its key or session is checked this often, so that it ends within 5 seconds. */
const checkMillis = 4_000;
/** A stream without entries sends something this often, so that both ends notice a dead connection. */
const heartbeatMillis = 15_000;

type Encoding = { type: string; entry: (entry: Page['entries'][number]) => string; heartbeat: string };

const lines: Encoding = { type: 'application/x-ndjson', entry: ({ json }) => `${json}\n`, heartbeat: '\n' };
const events: Encoding = {
  type: 'text/event-stream',
  entry: ({ cursor, json }) => `id: ${cursor}\ndata: ${json}\n\n`,
  heartbeat: ':\n\n',
};
const encodings = [lines, events];

/** One of three encodings of the same entries. */
const streamed = {
  description: 'A page of the change feed, or its entries as they come.',
  content: {
    'application/json': { schema: ChangePage },
    ...Object.fromEntries(encodings.map(({ type }) => [type, { schema: Type.String() }])),
  },
};

/** The encoding that the client accepts, if it names one; else the response is one JSON object. */
const encodingOf = ({ headers }: FastifyRequest): Encoding | undefined =>
  encodings.find(({ type }) =>
    headers.accept?.split(',').some((range) => range.split(';')[0]?.trim().toLowerCase() === type),
  );

/** A reader of events that connects again requests the same URL as before, so this comes before `after`. */
function lastEventOf({ headers }: FastifyRequest, encoding: Encoding | undefined): string | undefined {
  const id = encoding === events ? headers['last-event-id'] : undefined;
  return typeof id === 'string' && id !== '' ? id : undefined;
}

/** The feed of changed records. */
export const adminChangeRoutes = operation('listChanges', ['admin', 'feed'], 'GET', '/admin/changes', {
  summary: 'Follow changes of records',
  description:
    'Lists changed records, each with its current state; several changes of a record may be one entry. Without `after`, ' +
    'all records are listed first, then the changes since. With `Accept: application/x-ndjson` or `text/event-stream` ' +
    'entries are streamed as they occur, until there was none for `wait` seconds. Requires an admin key, a console session, ' +
    'or a key of kind `feed`, which sees its workspace, app or datasets. 404 if the setting `CHANGES` is `off`.',
  querystring: ChangesQuery,
  response: streamed,
  errors: [403, 404, 410],
  run: async ({ query, caller, disconnected, store, dependencies }, reply) => {
    const { after, limit = limits.changesDefault, wait = 0, include = 'record' } = query;
    const { request } = reply;
    const encoding = encodingOf(request);
    const signal = disconnected();
    const scopeFor = (caller: Caller) => scopeOf(caller, query);
    const changes: ChangeSelection = {
      scope: scopeFor(caller),
      limit,
      include,
      signal,
      ...(encoding === undefined ? pageBytes : streamBytes),
    };
    const start = await startOf(store, lastEventOf(request, encoding) ?? after);
    const pages = follow(dependencies, request, reply, start, changes, {
      waitMillis: wait * 1000,
      heartbeatMillis: encoding === undefined ? undefined : heartbeatMillis,
      scopeFor,
    });
    if (encoding === undefined) {
      const { value: page } = await pages.next();
      await pages.return(undefined);
      if (signal.aborted) {
        page?.close();
        throw clientDisconnected();
      }
      if (page === undefined) return dependencies.bearer.failedKeys.reject(request.ip, 'unknown');
      return sendChanges(reply, page);
    }
    reply.header('content-type', encoding.type);
    if (request.method === 'HEAD') return reply.send(Readable.from([]));
    reply.raw.setTimeout(limits.bodyIdleMillisMax, () => reply.raw.destroy());
    return reply.send(Readable.from(encode(encoding, pages, reply.raw, signal)));
  },
});

/** Bytes of the feed in memory for a page, and for a stream: streams are many, and their clients may be slow. */
const pageBytes = { bytesMax: limits.changesBytesMax, wholeBytesMax: limits.pageBytesMax };
const streamBytes = { bytesMax: changesStreamBytesMax, wholeBytesMax: changesStreamBytesMax };

function sendChanges(reply: FastifyReply, { entries, cursor, hasMore, isLarge, close }: Page): FastifyReply {
  reply.header('content-type', 'application/json; charset=utf-8');
  const texts = entries.map(({ json }) => json);
  const [head, tail] = ['{"data":[', `],"has_more":${hasMore},"cursor":${JSON.stringify(cursor)}}`];
  if (!isLarge) return reply.send(`${head}${texts.join(',')}${tail}`);
  const items = texts.map((text) => ({ text, bytes: text.length }));
  const read = async (slice: typeof items) => joinTexts(slice, ({ text }) => text);
  return sendLargePage(reply, openText({ head, tail, items, read, close }));
}

async function* encode(
  encoding: Encoding,
  pages: AsyncIterable<Page>,
  response: ServerResponse,
  signal: AbortSignal,
): AsyncGenerator<string> {
  for await (const { entries, isLarge, close } of pages) {
    const timer = isLarge ? setTimeout(() => response.destroy(), limits.slowReaderMillis) : undefined;
    try {
      yield entries.map(encoding.entry).join('') || encoding.heartbeat;
      if (!isLarge) continue;
      // A stream asks for the next page before it writes this one. The slot is held until this one has been sent.
      await nextTick();
      if (response.writableNeedDrain) await once(response, 'drain', { signal });
    } finally {
      clearTimeout(timer);
      close();
    }
  }
}

/**
 * Pages of the feed, until there was no entry for `waitMillis`, or the key is no longer valid. If the key allows something
 * else by now, later pages are limited to that. A request that waits does not count as being in flight.
 */
async function* follow(
  { store, changeWatch, waiting, inFlight, bearer, clock }: Dependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  start: ChangePlace,
  changes: ChangeSelection,
  { waitMillis, heartbeatMillis, scopeFor }: StreamOptions,
): AsyncGenerator<Page, undefined> {
  let isWaiting = false;
  const beforeWait = (): void => {
    if (isWaiting) return;
    if (!waiting.tryIncrement(limits.waitingMax)) throw unavailable('too many requests wait for changes');
    isWaiting = true;
    leaveGate(reply.raw, inFlight);
  };
  const mayContinue = async (): Promise<boolean> => {
    const caller = await bearer.findCallerAgain(request);
    if (caller !== undefined) changes.scope = scopeFor(caller);
    return caller !== undefined;
  };
  const options = { watch: changeWatch, waitMillis, checkMillis, heartbeatMillis, clock, beforeWait, mayContinue };
  try {
    return yield* followChanges(store, start, changes, options);
  } finally {
    if (isWaiting) waiting.add(-1);
  }
}

type StreamOptions = {
  waitMillis: number;
  heartbeatMillis: number | undefined;
  scopeFor: (caller: Caller) => ChangeScope;
};

/** The parameters restrict what the key allows. */
function scopeOf(caller: Caller, { kinds, app_id, dataset_id }: ChangesQuery): ChangeScope {
  const requested = {
    kinds: parseKinds(kinds, changeKinds),
    app_id: app_id === undefined ? undefined : canonicalId(app_id),
    dataset_ids: dataset_id === undefined ? undefined : [canonicalId(dataset_id)],
  };
  if (caller.kind !== 'feed') return { workspace_id: undefined, ...requested };
  return { workspace_id: caller.workspace_id, kinds: requested.kinds, ...restrict(caller, requested) };
}

type Owners = Pick<ChangeScope, 'app_id' | 'dataset_ids'>;

/** The intersection of allowed and requested. An object that the key does not allow does not exist: the empty id matches nothing. */
function restrict({ app_id, dataset_ids }: CallerOf<'feed'>, requested: Owners): Owners {
  if (app_id === null && dataset_ids === null) return requested;
  const asksForNothing = requested.app_id === undefined && requested.dataset_ids === undefined;
  if (asksForNothing) return { app_id: app_id ?? undefined, dataset_ids: dataset_ids ?? undefined };
  return {
    app_id: requested.app_id !== undefined && requested.app_id === app_id ? app_id : undefined,
    dataset_ids: (requested.dataset_ids ?? []).filter((id) => dataset_ids?.includes(id)),
  };
}

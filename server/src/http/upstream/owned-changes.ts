import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import type { ChildChunkPath } from '../../contract/child-chunk.ts';
import { canonicalId, isUuid } from '../../contract/primitives.ts';
import type { Caller } from '../../domain/caller.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { ChangedObject, Owner } from '../../domain/owner.ts';
import type { Doubt } from '../../domain/store/doubts.ts';
import type { Store } from '../../domain/store/store.ts';
import type { Metrics } from '../observe/metrics.ts';
import { isEventStream, type PassedRequest } from './exchange.ts';
import { type AnswerIds, copyBody, holdBackBody, holdBackEnd, idsIn } from './hold-back.ts';
import { changedBy, mayHaveFailedLate } from './operations.ts';
import type { UnstoredDoubts } from './unstored-doubts.ts';
import type { Upstream } from './upstream.ts';

/** The end of a response waits this long for its message to be in doubt, if that could not be stored. */
const doubtWriteMillisMax = 100;

export type OwnedChangesOptions = {
  owner: Owner;
  store: Store;
  upstream: Upstream;
  metrics: Metrics;
  unstored: UnstoredDoubts;
  /** A knowledge key of the owner, for edits in the console. */
  datasetKey: string | undefined;
  /** Milliseconds since the epoch. */
  clock: () => number;
};

type HoldBack = NonNullable<PassedRequest['holdBack']>;

/** Stores what requests have changed at the owner of the data, before their responses end. */
export class OwnedChanges {
  readonly #options: OwnedChangesOptions;
  readonly #closed = new AbortController();

  constructor(options: OwnedChangesOptions) {
    this.#options = options;
  }

  /** For a write of one of our routes. */
  holdBackWrite(request: FastifyRequest, caller: Caller | undefined): HoldBack {
    return ({ statusCode = 0 }, chunks) => {
      if (statusCode < 200 || statusCode > 299) return undefined;
      return holdBackBody(chunks, (body) => this.#record(changedBy(request, scopeOf(caller), body)));
    };
  }

  /** For a request that generates a message. */
  holdBackAnswer({ raw }: FastifyRequest, caller: Caller | undefined): HoldBack {
    const scope = scopeOf(caller);
    const record = ({ message_id, conversation_id = '' }: AnswerIds) =>
      this.#record({ kind: 'message', id: message_id ?? '', scope, conversation_id });
    const sent = copyBody(raw);
    const recordFailure = async (status: number, body: Record<string, unknown>) => {
      if (scope === '' || !mayHaveFailedLate(status, body)) return;
      const id = canonicalId(idsIn(sent()).conversation_id ?? '');
      const doubt = isUuid(id)
        ? { kind: 'conversation' as const, id, conversation_id: id }
        : { kind: 'app' as const, id: scope, conversation_id: '' };
      await this.#leaveInDoubt({ ...doubt, scope });
    };
    return ({ statusCode = 0, headers }, chunks) => {
      if (statusCode >= 400) return holdBackBody(chunks, (body) => recordFailure(statusCode, body));
      if (statusCode < 200 || statusCode > 299) return undefined;
      return isEventStream(headers) ? holdBackEnd(chunks, record) : holdBackBody(chunks, (body) => record(idsIn(body)));
    };
  }

  /** Sends an edit of the console to the owner of a child chunk, and stores it. False if the chunk belongs to this server. */
  async edit(path: ChildChunkPath, content: string): Promise<boolean> {
    const { owner, upstream, datasetKey } = this.#options;
    const { dataset_id, document_id, segment_id, child_chunk_id } = path;
    const scope = canonicalId(dataset_id);
    if (!(await owner.owns('dataset', scope))) return false;
    if (datasetKey === undefined) {
      throw new ServiceError('forbidden', 'Dify owns this text: edit it in Dify, or set DIFY_DATASET_KEY');
    }
    const parts = ['datasets', dataset_id, 'documents', document_id, 'segments', segment_id, 'child_chunks'];
    const url = [...parts, child_chunk_id].map((part) => `/${encodeURIComponent(part)}`).join('');
    const status = await upstream.send('PATCH', url, datasetKey, { content });
    if (status < 200 || status > 299) throw new ServiceError('bad_gateway', `Dify rejected the edit with ${status}`);
    await this.#record({ kind: 'child_chunk', id: child_chunk_id, scope, conversation_id: '' });
    return true;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#options.owner.close();
  }

  /** Stores what has changed. If that takes too long, it is in doubt. */
  async #record(change: ChangedObject): Promise<void> {
    const start = performance.now();
    const { owner, metrics } = this.#options;
    const object = {
      kind: change.kind,
      id: canonicalId(change.id),
      scope: canonicalId(change.scope),
      conversation_id: isUuid(change.conversation_id) ? canonicalId(change.conversation_id) : '',
    };
    const isKnown = isUuid(object.id);
    const stored = isKnown && owner.store(object).catch(() => false);
    const isStored = await Promise.race([stored, sleep(owner.heldMillisMax, false, { ref: false })]);
    if (!isStored) await this.#leaveInDoubt(isKnown ? object : { ...object, kind: 'app', id: object.scope });
    metrics.countEvent('heldBack', '', (performance.now() - start) / 1000);
  }

  /** Until the doubt is stored, this process has it in memory. */
  async #leaveInDoubt(doubt: Omit<Doubt, 'at'>): Promise<void> {
    const { store, unstored, clock } = this.#options;
    await Promise.race([
      unstored.store({ ...doubt, at: clock() }, store, this.#closed.signal),
      sleep(doubtWriteMillisMax, undefined, { ref: false }),
    ]);
  }
}

const scopeOf = (caller: Caller | undefined): string => (caller?.kind === 'app' ? caller.app.id : '');

import { type ChangeKind, changeKinds } from '../../contract/change.ts';
import type { FoundChange } from '../../domain/store/change-reads.ts';
import type { ReadEngine, Value } from '../base/engine.ts';
import { isLarge, type Reading } from '../base/sized.ts';
import { isInConversation } from './outbox.ts';
import {
  type Candidate,
  findConversations,
  findSegments,
  keyOfRow,
  type ParentRow,
  type RecordRow,
  recordKeyOf,
  recordsStatement,
  sourceOf,
} from './sources.ts';

type Records = ReadonlyMap<string, RecordRow>;
type Parents = ReadonlyMap<string, ParentRow>;

/** `isLarge`: its line was left out because it is large. */
export type ReadChange = FoundChange & { bytes: number; isLarge: boolean };

/** Reads the current state of changed records: one statement for each kind, and one for the paths of each kind that needs it. */
export class RecordReader {
  readonly #engine: ReadEngine;

  constructor(engine: ReadEngine) {
    this.#engine = engine;
  }

  /** In the order of the candidates. Undefined for a message or review of a deleted conversation: if that is undeleted, it is listed again. */
  async read(candidates: readonly Candidate[], texts: Reading): Promise<(ReadChange | undefined)[]> {
    const found = new Map<Candidate, ReadChange>();
    // Conversations first: a message must not be listed after its conversation that was deleted meanwhile.
    for (const kind of changeKinds) {
      const ofKind = candidates.filter((candidate) => candidate.kind === kind);
      if (ofKind.length > 0) await this.#readKind(kind, ofKind, texts, found);
    }
    return candidates.map((candidate) => found.get(candidate));
  }

  async #readKind(
    kind: ChangeKind,
    candidates: readonly Candidate[],
    texts: Reading,
    found: Map<Candidate, ReadChange>,
  ): Promise<void> {
    const { dialect } = this.#engine;
    const source = sourceOf(kind);
    const keys: Value[] =
      source.scope === undefined
        ? [dialect.list(candidates.map(({ id }) => id))]
        : dialect.pairs(candidates.map(({ scope, id }) => [scope, id]));
    const records = await this.#engine.read(recordsStatement(source, texts, dialect), ...keys);
    const rows: Records = new Map(records.map((row) => [keyOfRow(row), row]));
    const parents = await this.#findParents(kind, candidates, rows);
    for (const candidate of candidates) {
      const row = rows.get(recordKeyOf(candidate));
      // One that does not exist is gone: nothing would list it again.
      if (isInConversation(kind) && row !== undefined && parents.get(candidate.scope)?.deleted !== 0) continue;
      const gone = row === undefined || row.is_gone === 1;
      const bytes = gone ? 0 : Number(row.bytes ?? 0);
      const isTooLarge = texts === 'small' && isLarge({ bytes });
      const line = gone || isTooLarge || texts === 'none' ? undefined : source.step.line(row);
      const path = pathOf(candidate, row, parents);
      const { id, at: time, place: at } = candidate;
      found.set(candidate, { at, kind, id, time, path, gone, line, bytes, isLarge: isTooLarge });
    }
  }

  /** Conversations of messages and reviews by id, segments of child chunks by id. */
  async #findParents(kind: ChangeKind, candidates: readonly Candidate[], rows: Records): Promise<Parents> {
    const { dialect } = this.#engine;
    const byId = (list: readonly ParentRow[]): Parents => new Map(list.map((row) => [row.id, row]));
    if (isInConversation(kind)) {
      const ids = dialect.list([...new Set(candidates.map(({ scope }) => scope))]);
      return byId(await this.#engine.read(findConversations(dialect), ids));
    }
    if (kind !== 'child_chunk') return new Map();
    const segments = new Map([...rows.values()].map(({ change_scope, segment_id = '' }) => [segment_id, change_scope]));
    const keys = dialect.pairs([...segments].map(([segment_id, dataset_id]) => [dataset_id, segment_id]));
    return byId(await this.#engine.read(findSegments(dialect), ...keys));
  }
}

/** The ids of what a record belongs to. */
function pathOf(
  { kind, scope, id, workspace_id, owner }: Candidate,
  row: RecordRow | undefined,
  parents: Parents,
): Record<string, string | null> {
  switch (kind) {
    case 'document':
      return { workspace_id, dataset_id: scope };
    case 'segment':
      return { workspace_id, dataset_id: scope, document_id: row?.document_id ?? null };
    case 'child_chunk': {
      const segment_id = row?.segment_id ?? null;
      const document_id = parents.get(segment_id ?? '')?.document_id ?? null;
      return { workspace_id, dataset_id: scope, document_id, segment_id };
    }
    case 'conversation':
      return { workspace_id, app_id: row?.app_id ?? owner };
    case 'message':
    case 'review': {
      const { app_id = owner, user = null } = parents.get(scope) ?? {};
      return { workspace_id, app_id, conversation_id: scope, user, ...(kind === 'review' && { message_id: id }) };
    }
    default:
      return kind === 'workspace' ? {} : { workspace_id };
  }
}

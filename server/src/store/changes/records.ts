import { type ChangeKind, changeKinds } from '../../contract/change.ts';
import type { FoundChange } from '../../domain/change-reads.ts';
import type { Engine, Row, Value } from '../engine.ts';
import {
  type Candidate,
  findConversations,
  findSegments,
  keyOf,
  keyOfRow,
  recordsStatement,
  sourceOf,
} from './sources.ts';

type Rows = ReadonlyMap<string, Row>;

/** Reads the current state of changed records: one statement for each kind, and one for the paths of each kind that needs it. */
export class RecordReader {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** In the order of the candidates. Undefined for a message of a conversation that is gone: the conversation has an entry. */
  async read(candidates: readonly Candidate[]): Promise<(FoundChange | undefined)[]> {
    const found = new Map<Candidate, FoundChange>();
    for (const kind of changeKinds) {
      const ofKind = candidates.filter((candidate) => candidate.kind === kind);
      if (ofKind.length > 0) await this.#readKind(kind, ofKind, found);
    }
    return candidates.map((candidate) => found.get(candidate));
  }

  async #readKind(
    kind: ChangeKind,
    candidates: readonly Candidate[],
    found: Map<Candidate, FoundChange>,
  ): Promise<void> {
    const { dialect } = this.#engine;
    const source = sourceOf(kind);
    const rows = await this.#find(recordsStatement(source, dialect), candidates, source.scope !== undefined, keyOfRow);
    const parents = await this.#findParents(kind, candidates, rows);
    for (const candidate of candidates) {
      const row = rows.get(keyOf(candidate));
      if (kind === 'message' && parents.get(candidate.scope)?.deleted !== 0) continue;
      const line = row === undefined || row.is_gone === 1 ? undefined : source.step.line(row);
      const path = pathOf(candidate, row, parents);
      found.set(candidate, { at: candidate.place, kind, id: candidate.id, time: candidate.at, path, line });
    }
  }

  /** Conversations of messages by id, segments of child chunks by id. */
  async #findParents(kind: ChangeKind, candidates: readonly Candidate[], rows: Rows): Promise<Rows> {
    const { dialect } = this.#engine;
    const byId = (list: readonly Row[]): Rows => new Map(list.map((row) => [row.id as string, row]));
    if (kind === 'message') {
      const ids = dialect.list([...new Set(candidates.map(({ scope }) => scope))]);
      return byId(await this.#engine.read(findConversations(dialect), ids));
    }
    if (kind !== 'child_chunk') return new Map();
    const datasets = dialect.list([...new Set(candidates.map(({ scope }) => scope))]);
    const segments = dialect.list([...new Set([...rows.values()].map(({ segment_id }) => segment_id as string))]);
    return byId(await this.#engine.read(findSegments(dialect), datasets, segments));
  }

  async #find(
    statement: string,
    candidates: readonly Candidate[],
    hasScope: boolean,
    key: (row: Row) => string,
  ): Promise<Rows> {
    const { list } = this.#engine.dialect;
    const values: Value[] = [list(candidates.map(({ id }) => id))];
    if (hasScope) values.push(list([...new Set(candidates.map(({ scope }) => scope))]));
    return new Map((await this.#engine.read(statement, ...values)).map((row) => [key(row), row]));
  }
}

/** The ids of what a record belongs to. */
function pathOf(
  { kind, scope, workspace_id, owner }: Candidate,
  row: Row | undefined,
  parents: Rows,
): Record<string, string | null> {
  const text = (value: unknown) => (value as string | undefined) ?? null;
  switch (kind) {
    case 'document':
      return { workspace_id, dataset_id: scope };
    case 'segment':
      return { workspace_id, dataset_id: scope, document_id: text(row?.document_id) };
    case 'child_chunk': {
      const segment_id = text(row?.segment_id);
      const document_id = text(parents.get(segment_id ?? '')?.document_id);
      return { workspace_id, dataset_id: scope, document_id, segment_id };
    }
    case 'conversation':
      return { workspace_id, app_id: owner };
    case 'message':
      return { workspace_id, app_id: owner, conversation_id: scope, user: text(parents.get(scope)?.user) };
    default:
      return kind === 'workspace' ? {} : { workspace_id };
  }
}

import { hash } from 'node:crypto';
import { auditedReads, type ReadAudit } from '../../contract/people/roles.ts';
import { canonicalIds } from '../../contract/primitives.ts';
import { hourOf } from '../keys/key-uses.ts';
import { RecentMap } from '../recent-map.ts';
import type { Read } from '../store/audit.ts';
import type { Store } from '../store/store.ts';
import { textKey } from '../text-key.ts';

/** Time until reads are stored, in batches: a kill of the process loses at most these. */
const saveMillis = 1_000;
/** Entries that are known to be stored, or will be, so that they are not written again. */
const knownMin = 10_000;
const wordUnitsMax = 1_000;

/** The parameters of a request or tool, as far as they say what was read. */
type Query = Readonly<Record<string, unknown>>;

/** Notes who read what, and stores it after the response. */
export class ReadLog {
  readonly #store: Store;
  readonly #operations: ReadonlySet<string>;
  readonly #known = new RecentMap<true>(knownMin);
  #pending: Read[] = [];
  #saving: Promise<void> | undefined;

  constructor(store: Store, audit: ReadAudit) {
    this.#store = store;
    this.#operations = new Set(auditedReads[audit]);
  }

  has(operation: string | undefined): operation is string {
    return operation !== undefined && this.#operations.has(operation);
  }

  /** Of an operation that it `has`. `now` is in seconds. */
  note(requested: string, key_id: string, parameters: Query, now: number): void {
    const operation = partOf[requested] ?? requested;
    const object = objectOf(operation, parameters);
    if (object === undefined) return;
    const parts = [hourOf(now), key_id, operation, ...Object.values(object)];
    const id = hash('sha256', JSON.stringify(parts), 'hex').slice(0, 32);
    const known = textKey(id);
    if (this.#known.get(known)) return;
    this.#known.set(known, true);
    this.#pending.push({ id, at: now, key_id, operation, ...object });
    this.#saving ??= new Promise((resolve) => setTimeout(resolve, saveMillis).unref()).then(() => this.save());
  }

  /** What cannot be stored is stored with the next batch. */
  async save(): Promise<void> {
    this.#saving = undefined;
    const reads = this.#pending;
    if (reads.length === 0) return;
    this.#pending = [];
    await this.#store.run('noteReads', reads).catch(() => {
      this.#pending = [...reads, ...this.#pending].slice(-knownMin);
    });
  }
}

/** Parts of a transcript: they are not noted in addition to it. */
const partOf: Readonly<Record<string, string>> = { listMessageDetails: 'getTranscript' };

/** The console searches without words to count bad answers. */
const searches = ['search', 'searchUserMessages'];

/** Undefined if what was read is about no end user: a list of conversations is, if it is that of one user. */
function objectOf(operation: string, parameters: Query): Omit<Read, 'id' | 'at' | 'key_id' | 'operation'> | undefined {
  const textOf = (name: string) => {
    const value = parameters[name];
    return typeof value === 'string' && value !== '' ? value : null;
  };
  const user = textOf('user');
  const words = textOf('q') ?? textOf('query');
  if (parameters.in === 'knowledge' || (operation === 'listAllConversations' && user === null)) return undefined;
  if (searches.includes(operation) && words === null) return undefined;
  const ids = canonicalIds({ app_id: textOf('app_id'), conversation_id: textOf('conversation_id') });
  return { ...ids, user, words: words?.slice(0, wordUnitsMax).toWellFormed() ?? null };
}

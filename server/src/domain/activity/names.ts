import type { RecordKind } from '../../contract/record.ts';
import { splitAuthor } from '../author.ts';
import type { RecordName } from '../store/audit.ts';
import type { Store } from '../store/store.ts';

/** The current names of records and authors, read by one statement for each kind. */
export class Names {
  readonly #ids = new Map<RecordKind, Set<string>>();
  readonly #names = new Map<RecordKind, ReadonlyMap<string, RecordName>>();

  add(kind: RecordKind, ...ids: readonly (string | null | undefined)[]): void {
    const all = this.#ids.get(kind) ?? new Set();
    this.#ids.set(kind, all);
    for (const id of ids) if (id) all.add(id);
  }

  addAuthor(author: string | null): void {
    const { key_id, person_id } = splitAuthor(author);
    this.add('api_key', key_id);
    this.add('person', person_id);
  }

  async read({ admin }: Store): Promise<void> {
    const read = async ([kind, ids]: [RecordKind, Set<string>]) =>
      this.#names.set(kind, await admin.findNames(kind, [...ids]));
    await Promise.all([...this.#ids].map(read));
  }

  find(kind: RecordKind, id: string): RecordName | undefined {
    return this.#names.get(kind)?.get(id);
  }

  nameOf(kind: RecordKind, id: string | null): string | null {
    return id === null ? null : (this.find(kind, id)?.name ?? null);
  }

  ofAuthor(author: string | null) {
    const { key_id, person_id } = splitAuthor(author);
    const [key_name, person_name] = [this.nameOf('api_key', key_id), this.nameOf('person', person_id)];
    return { key_id, key_name, person_id, person_name };
  }
}

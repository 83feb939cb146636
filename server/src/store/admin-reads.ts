import type { AdminReads, ListPlace, WorkspaceListed } from '../domain/admin-reads.ts';
import * as sql from './admin-statements.ts';
import type { Engine, Row, Value } from './engine.ts';

/** What the console reads, over either engine. */
export class SqlAdminReads implements AdminReads {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async #list<R>(list: sql.List, place: ListPlace, ...values: Value[]): Promise<R[]> {
    const rows: Row[] = await this.#engine.read(...sql.page(list, values, place));
    return rows as R[];
  }

  listWorkspaces(place: ListPlace): Promise<WorkspaceListed[]> {
    return this.#list(sql.workspaces, place);
  }
}

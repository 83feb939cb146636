import type { RecordKind } from '../../contract/record.ts';
import type { Exports, SelectedMessage } from '../../domain/store/exports.ts';
import type { Selection } from '../../domain/store/selection.ts';
import type { Engine, IsWanted, Row } from '../base/engine.ts';
import { exportSteps } from './export.ts';
import { readSelected, type SelectedRows } from './selected-rows.ts';

/** Exports, on either engine. */
export class SqlExports implements Exports {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async *all(kinds?: readonly RecordKind[]): AsyncGenerator<Uint8Array> {
    const isWanted: IsWanted = ({ kind }) => kinds === undefined || kinds.includes(kind);
    for await (const { step, rows } of this.#engine.readAll(exportSteps, isWanted)) {
      const line = exportSteps[step]?.line;
      if (line !== undefined) yield linesOf(rows, line);
    }
  }

  async *selected(selection: Selection, kinds: readonly RecordKind[]): AsyncGenerator<Uint8Array> {
    for await (const { step, rows } of this.#readSelected(selection)) {
      if (kinds.includes(step.kind)) yield linesOf(rows, step.line);
    }
  }

  async *messages(selection: Selection): AsyncGenerator<SelectedMessage[]> {
    for await (const { step, rows, user = null } of this.#readSelected(selection)) {
      if (step.kind === 'message') yield rows.map((row) => ({ ...(row as Omit<SelectedMessage, 'user'>), user }));
    }
  }

  async *#readSelected(selection: Selection): AsyncGenerator<SelectedRows> {
    const { read, close } = await this.#engine.openSnapshot();
    try {
      yield* readSelected(read, selection);
    } finally {
      close();
    }
  }
}

const linesOf = (rows: readonly Row[], line: (row: Row) => string): Buffer =>
  Buffer.from(rows.map((row) => `${line(row)}\n`).join(''));

import type { RecordKind } from '../../contract/record.ts';
import type { Exports, SelectedMessage, Selection } from '../../domain/store/selection.ts';
import type { Engine, ExportedRows } from '../base/engine.ts';
import type { Slots } from '../base/large-responses.ts';
import { exportSteps } from './export.ts';
import { readSelected } from './selected-rows.ts';

export function exportsOf(engine: Engine, slots: Slots): Exports {
  const stepsOf = (kinds: readonly RecordKind[] | undefined) =>
    exportSteps.filter(({ kind }) => kinds?.includes(kind) ?? true);
  return {
    all: (kinds, signal) => slots.openParts(linesOf(engine.readAll(stepsOf(kinds)), kinds), signal),
    selected: (selection, kinds, signal) => slots.openParts(linesOf(selectedRows(engine, selection), kinds), signal),
    messages: (selection, signal) => slots.openParts(messagesIn(selectedRows(engine, selection)), signal),
  };
}

async function* selectedRows(engine: Engine, selection: Selection): AsyncGenerator<ExportedRows> {
  const { read, close } = await engine.openSnapshot();
  try {
    yield* readSelected(read, selection);
  } finally {
    close();
  }
}

async function* linesOf(
  parts: AsyncIterable<ExportedRows>,
  kinds: readonly RecordKind[] | undefined,
): AsyncGenerator<Uint8Array> {
  for await (const { step, rows } of parts) {
    if (kinds?.includes(step.kind) ?? true) yield Buffer.from(rows.map((row) => `${step.line(row)}\n`).join(''));
  }
}

async function* messagesIn(parts: AsyncIterable<ExportedRows>): AsyncGenerator<SelectedMessage[]> {
  for await (const { step, rows, user = null } of parts) {
    if (step.kind === 'message') yield rows.map((row) => ({ ...(row as Omit<SelectedMessage, 'user'>), user }));
  }
}

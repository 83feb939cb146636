import type { RecordKind } from '../../contract/record.ts';
import type { Exports, SelectedMessage, Selection } from '../../domain/store/selection.ts';
import type { Engine, IsWanted, Row } from '../base/engine.ts';
import type { Slots } from '../base/large-responses.ts';
import { exportSteps } from './export.ts';
import { readSelected, type SelectedRows } from './selected-rows.ts';

/** Exports, on either engine. */
export function exportsOf(engine: Engine, slots: Slots): Exports {
  return {
    all: (kinds, signal) =>
      slots.openParts(
        linesOfAll(engine, ({ kind }) => kinds?.includes(kind) ?? true),
        signal,
      ),
    selected: (selection, kinds, signal) =>
      slots.openParts(linesOfKinds(selectedRows(engine, selection), kinds), signal),
    messages: (selection, signal) => slots.openParts(messagesIn(selectedRows(engine, selection)), signal),
  };
}

async function* selectedRows(engine: Engine, selection: Selection): AsyncGenerator<SelectedRows> {
  const { read, close } = await engine.openSnapshot();
  try {
    yield* readSelected(read, selection);
  } finally {
    close();
  }
}

async function* linesOfAll(engine: Engine, isWanted: IsWanted): AsyncGenerator<Uint8Array> {
  for await (const { step, rows } of engine.readAll(exportSteps, isWanted)) {
    const line = exportSteps[step]?.line;
    if (line !== undefined) yield linesOf(rows, line);
  }
}

async function* linesOfKinds(
  parts: AsyncIterable<SelectedRows>,
  kinds: readonly RecordKind[],
): AsyncGenerator<Uint8Array> {
  for await (const { step, rows } of parts) if (kinds.includes(step.kind)) yield linesOf(rows, step.line);
}

async function* messagesIn(parts: AsyncIterable<SelectedRows>): AsyncGenerator<SelectedMessage[]> {
  for await (const { step, rows, user = null } of parts) {
    if (step.kind === 'message') yield rows.map((row) => ({ ...(row as Omit<SelectedMessage, 'user'>), user }));
  }
}

const linesOf = (rows: readonly Row[], line: (row: Row) => string): Buffer =>
  Buffer.from(rows.map((row) => `${line(row)}\n`).join(''));

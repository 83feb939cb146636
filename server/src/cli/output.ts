export const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** One line on the terminal, rewritten in place. */
export const showLine = (text: string): void => void process.stderr.write(`\r\x1b[K${text}`);

/** Untrusted text, with control characters escaped so that a terminal does not interpret them. */
export const visible = (text: string): string =>
  text.replaceAll(/[\x00-\x1f\x7f-\x9f]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

export const timeOf = (seconds: number | null): string =>
  seconds === null ? '-' : new Date(seconds * 1000).toISOString().replace('.000', '');

/** Prints rows as JSON, one in a line, or as a table. */
export function printRows<R>(
  rows: readonly R[],
  isJson: boolean,
  header: string[],
  cellsOf: (row: R) => string[],
): void {
  if (isJson) for (const row of rows) print(JSON.stringify(row));
  else printTable([header, ...rows.map(cellsOf)]);
}

export function printTable(rows: string[][]): void {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  for (const row of rows) {
    const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
    print(cells.join('  ').trimEnd());
  }
}

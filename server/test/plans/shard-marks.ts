import { distribution } from '../../src/store/base/distribution.ts';

export const shardMark = '/*@*/';

/** The number of the parameter that a statement with `$1`, `$2`, … marks as its distribution value. */
export const markedIn = (text: string): string | undefined => /\$(\d+)[^$]*?\/\*@\*\//.exec(text)?.[1];

/** The parameters that distribution columns of these tables are compared with, or inserted from. */
function distributionParameters(text: string, tables: readonly string[]): string[] {
  const columns = [...new Set(tables.map((table) => distribution.distributed[table]))].join('|');
  const compared = [...text.matchAll(new RegExp(`\\b(?:${columns}) = (?:ANY\\()?\\$(\\d+)`, 'g'))];
  const [, table = '', names = '', values = ''] =
    /^\s*INSERT INTO (\w+)\s+\(([^)]*)\)\s*(?:VALUES\s*\(|SELECT[^(]*\bFROM unnest\(|SELECT[\s\S]*?\)\)\s*FROM unnest\()([^)]*)/.exec(
      text,
    ) ?? [];
  const at = names.split(/,\s*/).indexOf(distribution.distributed[table] ?? '');
  const [, inserted] = /^\s*\$(\d+)/.exec(values.split(',')[at] ?? '') ?? [];
  return [...compared.map(([, number = '']) => number), ...(inserted === undefined ? [] : [inserted])];
}

/** What is wrong with the mark of a statement, or with the lack of one. */
export function wrongMark(text: string): string | undefined {
  const tables = [...text.matchAll(/\b(?:FROM|JOIN|INTO|UPDATE|TRUNCATE)\s+([a-z_]+)/gi)].map(([, name = '']) => name);
  const distributed = tables.filter((table) => Object.hasOwn(distribution.distributed, table));
  const marked = markedIn(text);
  const expected = distributed.length === 0 ? [] : distributionParameters(text.replaceAll(shardMark, ''), distributed);
  if (marked === undefined) return expected.length === 0 ? undefined : `does not mark $${expected.join(' or $')}`;
  return expected.includes(marked) ? undefined : `marks $${marked}`;
}

import { invalidParam } from '../errors.ts';

/** The kinds of a comma-separated list. */
export function parseKinds<K extends string>(text: string | undefined, known: readonly K[]): readonly K[] | undefined {
  if (text === undefined) return undefined;
  const kinds = text.split(',');
  const isKnown = (kind: string): kind is K => known.some((one) => one === kind);
  if (kinds.every(isKnown)) return kinds;
  throw invalidParam(`kinds must be a comma-separated list of ${known.join(', ')}`);
}

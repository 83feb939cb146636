import type { IncomingMessage } from 'node:http';
import type { Store } from '../../domain/store/store.ts';
import { receivedUrl } from '../request/before-routing.ts';
import { decodeAll } from './path.ts';

/**
 * Whether the path or the query of a request names a conversation that was erased in Backscroll, or an erased message with its
 * conversation. The upstream may still have it, so such a request is not passed on. Tombstones are found by conversation: a path with
 * the id of a message alone is passed on.
 */
export async function namesErased({ erasure }: Store, request: IncomingMessage): Promise<boolean> {
  const ids = uuidsIn(receivedUrl(request));
  const tombstones = await erasure.findTombstones([...ids]);
  return tombstones.some(({ message_id }) => message_id === '' || ids.has(message_id));
}

/** Whatever the upstream may take as a UUID. What it takes as none is found in no tombstone. */
function uuidsIn(url: string): Set<string> {
  const text = Buffer.from(decodeAll(url), 'latin1').toString();
  return new Set(text.split(/[/\\?&;=#,]/).flatMap(uuidsOf));
}

/**
 * Python's `UUID` leaves out prefixes, braces and hyphens, and reads the 32 characters that remain as a number: with spaces, a sign,
 * `0x`, underscores between digits, and the digits of every script.
 */
function uuidsOf(text: string): string[] {
  const spelled = text
    .replace(/urn:/gi, '')
    .replace(/uuid:/gi, '')
    .replace(/[{}-]/g, '')
    // A space, in a query.
    .replaceAll('+', ' ')
    .replace(/\p{Nd}/gu, decimalValue);
  if (![spelled, spelled.trim()].some((one) => [...one].length === 32)) return [];
  const digits = spelled
    .toLowerCase()
    .replace(/[^0-9a-f]/g, '')
    .padStart(32, '0');
  return [digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')];
}

/** Unicode has the digits of each script in order, and sets of digits side by side. */
function decimalValue(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let first = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first -= 1;
  return `${(code - first) % 10}`;
}

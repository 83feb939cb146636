import type { Precondition } from '../domain/update-child-chunk.ts';

const tags = /(W\/)?"([^"]*)"/g;

/** `If-None-Match`: weak and strong tags compare alike, `*` matches whatever is there. */
export function isHeld(header: string, tag: string): boolean {
  return header.trim() === '*' || [...header.matchAll(tags)].some(([, , held]) => held === tag);
}

/** `If-Match`: weak tags never match. */
export function preconditionOf(header: string | undefined): Precondition {
  if (header === undefined) return undefined;
  if (header.trim() === '*') return 'any';
  return [...header.matchAll(tags)].filter(([, weak]) => weak === undefined).map(([, , tag]) => tag ?? '');
}

/** What a cache may do with an answer that one key may see: keep it, and ask each time. */
export const revalidate = 'private, no-cache';

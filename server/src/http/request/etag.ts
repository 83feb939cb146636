import type { ClientTags } from '../../domain/messages/list-messages.ts';
import type { Precondition } from '../../domain/store/child-chunks.ts';

const oneTag = /[ \t,]*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*(?:,|$)/y;

/** The tags of a list; none if it is not a list of tags. */
function parseTags(header: string): { weak: boolean; tag: string }[] {
  const tags: { weak: boolean; tag: string }[] = [];
  oneTag.lastIndex = 0;
  while (oneTag.lastIndex < header.length) {
    const match = oneTag.exec(header);
    if (match === null) return [];
    tags.push({ weak: match[1] !== undefined, tag: match[2] ?? '' });
  }
  return tags;
}

/** `If-None-Match`: weak and strong tags compare alike, `*` matches any tag. */
export function parseIfNoneMatch(header: string | undefined): ClientTags | undefined {
  if (header === undefined) return undefined;
  if (header.trim() === '*') return { tags: [], matchesTag: () => true };
  const tags = parseTags(header).map(({ tag }) => tag);
  return { tags, matchesTag: (tag) => tags.includes(tag) };
}

/** Whether `If-None-Match` contains this tag. */
export function matchesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  return header === `"${tag}"` || parseIfNoneMatch(header)?.matchesTag(tag) === true;
}

/** `If-Match`: weak tags never match. */
export function parseIfMatch(header: string | undefined): Precondition {
  if (header === undefined) return undefined;
  if (header.trim() === '*') return 'any';
  return parseTags(header).flatMap(({ weak, tag }) => (weak ? [] : [tag]));
}

/** Only a private cache may store the response, and it must revalidate it for each request. */
export const revalidate = 'private, no-cache';

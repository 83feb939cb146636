/**
 * A text as the key of a map. V8 stores a string that is looked up in a `Map` in a table of its own: texts that come once, such as
 * URLs, would fill the heap until all of it is searched for garbage. So the keys of maps are hashes, and the texts are compared.
 */
export type TextKey = { text: string; hash: number };

export const textKey = (text: string): TextKey => ({ text, hash: hashOf(text) });

/** FNV-1a over the code units: a 32-bit integer, which needs no memory of its own. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5 | 0;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}

/** A text by locale: American English first, then whatever there is. */
export function localized(texts: unknown): string | undefined {
  if (typeof texts === 'string') return texts || undefined;
  if (typeof texts !== 'object' || texts === null) return undefined;
  const given = texts as Record<string, unknown>;
  return [given.en_US, ...Object.values(given)].find((text) => typeof text === 'string' && text !== '') as
    | string
    | undefined;
}

/** Only these are loaded: others would be refused, or would tell what is looked at to whoever listens. */
export function secureUrl(text: string | undefined): string | undefined {
  return text !== undefined && URL.parse(text)?.protocol === 'https:' ? text : undefined;
}

/** A text that may be given by locale: American English, else the first that there is. */
export function localized(texts: unknown): string | undefined {
  if (typeof texts === 'string') return texts || undefined;
  if (typeof texts !== 'object' || texts === null) return undefined;
  const byLocale = texts as Record<string, unknown>;
  return [byLocale.en_US, ...Object.values(byLocale)].find((text) => typeof text === 'string' && text !== '') as
    | string
    | undefined;
}

/** Only https URLs are loaded: others are rejected by the browser, or could be observed on the network. */
export function secureUrl(text: string | undefined): string | undefined {
  return text !== undefined && URL.parse(text)?.protocol === 'https:' ? text : undefined;
}

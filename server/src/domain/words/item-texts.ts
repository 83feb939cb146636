/** Names, states and references: no one searches for them. Encrypted texts have no words. */
const unsearched = new Set([
  'id',
  'type',
  'role',
  'status',
  'object',
  'call_id',
  'encrypted_content',
  'file_data',
  'detail',
]);

/** The texts of items that are not part of one of these texts, each once. */
export function textsOfItems(items: readonly object[], shown: readonly string[]): string[] {
  const texts = new Set<string>();
  for (const text of stringsIn(items)) {
    if (text !== '' && !text.startsWith('data:') && !shown.some((one) => one.includes(text))) texts.add(text);
  }
  return [...texts];
}

function* stringsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (typeof value === 'object' && value !== null) {
    for (const [name, inner] of Object.entries(value)) if (!unsearched.has(name)) yield* stringsIn(inner);
  }
}

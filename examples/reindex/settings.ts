/** The settings of the environment. If some are missing, all of them are named, and the program ends. */

const missing: string[] = [];

function text(name: string, byDefault?: string): string {
  const value = process.env[name] || byDefault;
  if (value === undefined) missing.push(`${name} is not set`);
  return value ?? '';
}

export const settings = {
  backscrollUrl: text('BACKSCROLL_URL'),
  feedKey: text('BACKSCROLL_KEY'),
  databaseUrl: text('INDEX_DATABASE_URL'),
  embeddingsUrl: text('EMBEDDINGS_URL').replace(/\/+$/, ''),
  model: text('EMBEDDINGS_MODEL'),
  /** Many local endpoints need none. */
  embeddingsKey: text('EMBEDDINGS_KEY', ''),
  /** `vector` needs the extension pgvector. `real[]` works everywhere, without an index for nearest neighbours. */
  vectorType: text('VECTOR_TYPE', 'vector'),
};

if (missing.length > 0) {
  console.error(missing.join('\n'));
  process.exit(2);
}

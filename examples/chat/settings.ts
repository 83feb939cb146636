/** The settings of the environment. If some are missing or invalid, all of them are named, and the program ends. */

const problems: string[] = [];

function text(name: string, byDefault?: string): string {
  const value = process.env[name] || byDefault;
  if (value === undefined) problems.push(`${name} is not set`);
  return value ?? '';
}

/** Without a slash at its end. */
function address(name: string): string {
  const value = text(name);
  if (value !== '' && !/^https?:$/.test(URL.parse(value)?.protocol ?? '')) {
    problems.push(`${name} must start with http:// or https://`);
  }
  return value.replace(/\/+$/, '');
}

function integer(name: string, byDefault: number, min: number, max: number): number {
  const value = Number(text(name, String(byDefault)));
  const isValid = Number.isInteger(value) && value >= min && value <= max;
  if (!isValid) problems.push(`${name} must be an integer from ${min} to ${max}`);
  return value;
}

function price(name: string): number {
  const value = text(name, '0');
  if (!/^\d{1,9}(\.\d{1,9})?$/.test(value)) problems.push(`${name} must be a price, for example 0.15`);
  return Number(value);
}

function writerKey(name: string): string {
  const value = text(name);
  if (value !== '' && !value.startsWith('writer-')) problems.push(`${name} must be the secret of a writer key`);
  return value;
}

export const settings = {
  backscrollUrl: address('BACKSCROLL_URL'),
  writerKey: writerKey('BACKSCROLL_KEY'),
  modelUrl: address('OPENAI_BASE_URL'),
  model: text('OPENAI_MODEL'),
  /** Of a million tokens. */
  promptPrice: price('PROMPT_PRICE'),
  completionPrice: price('COMPLETION_PRICE'),
  currency: text('CURRENCY', 'USD'),
  /** Many local endpoints need none. */
  modelKey: text('OPENAI_API_KEY', ''),
  systemPrompt: text('SYSTEM_PROMPT', ''),
  /** How many earlier messages the model gets with a new one. */
  contextMessages: integer('CONTEXT_MESSAGES', 20, 1, 100),
  pingSeconds: integer('PING_SECONDS', 10, 1, 60),
  host: text('HOST', '127.0.0.1'),
  port: integer('PORT', 8000, 0, 65_535),
};

if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exit(2);
}

/** What to try first with an app of one's own: the same on the command line and in the console. */

/** The idempotency key of the first message: it can be sent again, and its conversation is known before. */
export const firstKey = 'first-message';

const question = { type: 'message', role: 'user', content: 'Hello?' };
const answer = { type: 'message', role: 'assistant', content: 'Hello! How can I help?' };
const first = { metadata: { user: 'visitor-1' }, items: [question, answer] };

export const clientLine = (base: string, secret: string): string =>
  `const client = new OpenAI({ baseURL: '${base}/openai/v1', apiKey: '${secret}' });`;

export const appendLine = (base: string, secret: string): string =>
  [
    `curl -sS ${base}/openai/v1/conversations`,
    `-H 'Authorization: Bearer ${secret}'`,
    `-H 'Content-Type: application/json' -H 'Idempotency-Key: ${firstKey}'`,
    `-d '${JSON.stringify(first).replaceAll('{"type"', '\n    {"type"')}'`,
  ].join(' \\\n  ');

export const readLine = (base: string, secret: string, conversation_id: string): string =>
  `curl -sS '${base}/v1/messages?conversation_id=${conversation_id}' \\\n  -H 'Authorization: Bearer ${secret}'`;

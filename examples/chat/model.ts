import { settings } from './settings.ts';

/** The client of a chat endpoint that is compatible with OpenAI's. */

export type Prompt = { role: 'system' | 'user' | 'assistant'; content: string };
export type Usage = { prompt_tokens: number; completion_tokens: number };
/** A part of the answer, or, usually at its end, the tokens that were used. */
export type Piece = { text: string; usage?: Usage | undefined };

type ChunkOfAnswer = {
  choices?: { delta?: { content?: string | null }; finish_reason?: string | null }[];
  usage?: Usage | null;
  error?: { message?: string };
};

/** Its message is for the user. */
export class ModelError extends Error {}

/** Generates an answer piece by piece, until `signal` ends it. */
export async function* generate(messages: readonly Prompt[], signal: AbortSignal): AsyncGenerator<Piece> {
  let isComplete = false;
  for await (const data of eventsIn(await send(messages, signal))) {
    if (data === '[DONE]') return;
    const { choices, usage, error } = parse(data);
    if (error) throw new ModelError(error.message ?? 'the model failed');
    const [choice] = choices ?? [];
    if (choice?.finish_reason) isComplete = true;
    yield { text: choice?.delta?.content ?? '', usage: usage ?? undefined };
  }
  if (!isComplete) throw new ModelError('the answer of the model broke off');
}

async function send(messages: readonly Prompt[], signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  const { modelUrl, modelKey, model } = settings;
  const response = await fetch(`${modelUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(modelKey !== '' && { authorization: `Bearer ${modelKey}` }) },
    body: JSON.stringify({ model, messages, stream: true, stream_options: { include_usage: true } }),
    signal,
  });
  if (response.ok && response.body) return response.body;
  const { error } = parse(await response.text());
  throw new ModelError(error?.message ?? `the model responded with status ${response.status}`);
}

/** The data of server-sent events. */
async function* eventsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of body) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('data:')) yield line.slice('data:'.length).trim();
  }
}

/** Empty for what is not a JSON object: the error page of a proxy. */
function parse(json: string): ChunkOfAnswer {
  try {
    return Object(JSON.parse(json));
  } catch {
    return {};
  }
}

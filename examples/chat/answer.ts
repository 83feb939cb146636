import { randomUUID } from 'node:crypto';
// In a project of your own: from 'backscroll-client'.
import { ApiError, Backscroll } from '../../client/src/index.ts';
import { generate, ModelError, type Prompt, type Usage } from './model.ts';
import { Rejection } from './rejection.ts';
import { settings } from './settings.ts';

/**
 * History is read from Backscroll with the key of the caller. The message is stored there, with a writer key, before the
 * caller sees the end of the answer, also if the caller no longer reads it.
 */

export type Caller = { app_id: string; key: string };
export type Question = { query: string; user: string; inputs: object; conversation_id: string };
/** An answer in progress. Only its own user can stop it. */
type Task = { app_id: string; user: string; stop: AbortController };

/** Backscroll may be starting again while an answer ends. */
const storeRetries = 6;
const baseUrl = settings.backscrollUrl;
const writer = new Backscroll({ baseUrl, key: settings.writerKey, retries: storeRetries });
const tasks = new Map<string, Task>();

export function stopAnswer(task_id: string, app_id: string, user: unknown): void {
  const task = tasks.get(task_id);
  if (task?.app_id === app_id && task.user === user) task.stop.abort();
}

/** Returns the body of a blocking response. With `write`, a failure of the model is an event, not a `Rejection`. */
export async function answer(caller: Caller, question: Question, write?: (text: string) => void): Promise<object> {
  const startedAt = performance.now();
  const { query, user, inputs } = question;
  const prompts: Prompt[] = [...(await readContext(caller, question)), { role: 'user', content: query }];
  const isNew = question.conversation_id === '';
  const conversation_id = isNew ? randomUUID() : question.conversation_id;
  const [message_id, task_id, created_at] = [randomUUID(), randomUUID(), Math.floor(Date.now() / 1000)];
  const ids = { conversation_id, message_id, created_at, task_id, id: message_id };
  const conversation = { id: conversation_id, app_id: caller.app_id, ...(isNew && { user, inputs, created_at }) };
  const store = (fields: { answer: string } & Record<string, unknown>) =>
    writer.append({ conversation, messages: [{ id: message_id, query, inputs, created_at, ...fields }] });
  // Before the model is called: a question that cannot be stored costs nothing, and one that was asked survives a crash.
  await store({ answer: '' }).catch(rejectQuestion);

  const send = (event: string, fields: object) => write?.(`data: ${JSON.stringify({ event, ...ids, ...fields })}\n\n`);
  const pings = setInterval(() => write?.('event: ping\n\n'), settings.pingSeconds * 1000);
  const stop = new AbortController();
  tasks.set(task_id, { app_id: caller.app_id, user, stop });
  let text = '';
  let usage = { prompt_tokens: 0, completion_tokens: 0 };
  let failure: Rejection | undefined;
  try {
    for await (const piece of generate(prompts, stop.signal)) {
      usage = piece.usage ?? usage;
      text += piece.text;
      if (piece.text !== '') send('message', { answer: piece.text, from_variable_selector: [] });
    }
  } catch (error) {
    // What was generated before a stop is the answer.
    if (!stop.signal.aborted) failure = modelFailure(error);
  }
  tasks.delete(task_id);
  // Without what no record can have: NUL, and half of a character if the answer was stopped there.
  text = text.replaceAll('\0', '').toWellFormed();
  const latency = (performance.now() - startedAt) / 1000;
  const state = failure && { status: 'error', error: failure.message };
  const prices = pricesOf(usage);
  const counts = {
    ...{ message_tokens: usage.prompt_tokens, answer_tokens: usage.completion_tokens, ...prices.stored },
    ...{ model_provider: new URL(settings.modelUrl).hostname, model: settings.model },
  };
  await store({ answer: text, ...state, ...counts, provider_response_latency: latency }).catch((error: unknown) => {
    failure = storeFailure(error);
  });
  clearInterval(pings);

  const total_tokens = usage.prompt_tokens + usage.completion_tokens;
  const metadata = { retriever_resources: [], usage: { ...prices.shown, ...usage, total_tokens, latency } };
  if (failure && !write) throw failure;
  if (failure) send('error', failure.body);
  else send('message_end', { metadata, files: [] });
  return { event: 'message', ...ids, mode: 'chat', answer: text, metadata };
}

/** Earlier messages, oldest first, read as the caller: 404 if the conversation is that of another user. */
async function readContext({ key }: Caller, { conversation_id, user }: Question): Promise<Prompt[]> {
  const system: Prompt[] = settings.systemPrompt === '' ? [] : [{ role: 'system', content: settings.systemPrompt }];
  if (conversation_id === '') return system;
  const query = { conversation_id, user, limit: settings.contextMessages, page_order: 'newest_first' as const };
  const { data } = await new Backscroll({ baseUrl, key }).listMessages(query).catch((error: unknown) => {
    throw error instanceof ApiError ? new Rejection(error.status, error.code, error.message) : error;
  });
  const answered = data.filter((message) => message.status === 'normal' && message.answer !== '').reverse();
  const promptsOf = (message: (typeof data)[number]): Prompt[] => [
    { role: 'user', content: message.query },
    { role: 'assistant', content: message.answer },
  ];
  return [...system, ...answered.flatMap(promptsOf)];
}

/** A 400 names what is wrong with the question. Other errors concern the writer key, not the caller. */
function rejectQuestion(error: unknown): never {
  if (error instanceof ApiError && error.status === 400) throw new Rejection(400, error.code, error.message);
  throw storeFailure(error);
}

function storeFailure(error: unknown): Rejection {
  console.error(error);
  return new Rejection(500, 'internal_server_error', 'the message could not be stored');
}

function modelFailure(error: unknown): Rejection {
  if (!(error instanceof ModelError)) console.error(error);
  const message = error instanceof ModelError ? error.message : 'the connection to the model failed';
  return new Rejection(400, 'completion_request_error', message);
}

/** What the message cost, as Backscroll stores it, and as front ends read it, which expect prices also if there are none. */
function pricesOf({ prompt_tokens, completion_tokens }: Usage): { stored: object; shown: object } {
  const { promptPrice, completionPrice, currency } = settings;
  const [ofPrompt, ofCompletion] = [prompt_tokens * promptPrice, completion_tokens * completionPrice];
  const text = (price: number) => (price / 1_000_000).toFixed(7);
  const total_price = text(ofPrompt + ofCompletion);
  const unit = '0.000001';
  const shown = {
    ...{ prompt_unit_price: `${promptPrice}`, prompt_price_unit: unit, prompt_price: text(ofPrompt) },
    ...{
      completion_unit_price: `${completionPrice}`,
      completion_price_unit: unit,
      completion_price: text(ofCompletion),
    },
    ...{ total_price, currency },
  };
  return { stored: ofPrompt + ofCompletion > 0 ? { total_price, currency } : {}, shown };
}

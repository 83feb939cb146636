import { createHash, createHmac } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
// In a project of your own: from 'backscroll-client'.
import { Backscroll, type ChangeOf, CursorGone } from '../../client/src/index.ts';

/**
 * Posts new dislikes, and an alert when many answers fail, to a webhook. Each is posted at least once: the cursor of the feed is
 * stored after the receiver has accepted everything before it. A repetition has the same `webhook-id`.
 */

const { env } = process;
const missing = ['BACKSCROLL_URL', 'BACKSCROLL_KEY', 'WEBHOOK_URL', 'WEBHOOK_SECRET'].filter((name) => !env[name]);
if (missing.length > 0) {
  console.error(missing.map((name) => `${name} is not set`).join('\n'));
  process.exit(2);
}
const baseUrl = `${env.BACKSCROLL_URL}`;
const stateFile = env.STATE_FILE || 'notify.json';
/** Of the messages that were created within so many seconds, this share may fail before there is an alert. */
const windowSeconds = Number(env.WINDOW_SECONDS || 600);
const failedMax = Number(env.FAILED_RATE || 0.1);
const messagesMin = Number(env.FAILED_MIN || 10);
/** `whsec_` and the key in Base64, as Standard Webhooks writes it. */
const secret = Buffer.from(`${env.WEBHOOK_SECRET}`.replace(/^whsec_/, ''), 'base64');

type Change = ChangeOf<'message'>;
/** `failed`: for each message of the window whether it failed. */
type State = { cursor: string; window: number; failed: Record<string, boolean> };

const backscroll = new Backscroll({ baseUrl, key: `${env.BACKSCROLL_KEY}` });
/** Of this process. The receiver drops other repetitions. */
const posted = new Set<string>();
const postedMax = 10_000;
let state = readState();
for (;;) {
  try {
    await follow();
  } catch (error) {
    if (!(error instanceof CursorGone)) throw error;
    console.error('the cursor is gone: continuing with what comes');
    state = newState();
  }
}

async function follow(): Promise<void> {
  for await (const page of backscroll.changePages({ after: state.cursor, kinds: ['message'] })) {
    for (const change of page.data) {
      await notifyOfDislike(change);
      await notifyOfFailures(change);
    }
    state.cursor = page.cursor;
    writeState();
  }
}

async function notifyOfDislike({ id, path, record }: Change): Promise<void> {
  if (record?.feedback?.rating !== 'dislike') return;
  const { conversation_id, query, answer, feedback_content, rated_at } = record;
  const { app_id, user } = path;
  const address = [app_id, conversation_id, id].map((part) => encodeURIComponent(`${part}`)).join('/');
  const url = `${baseUrl.replace(/\/v1\/?$/, '')}/console#/conversations/${address}`;
  const data = { app_id, user, conversation_id, message_id: id, query, answer, feedback: feedback_content, url };
  // The feed lists a message again whenever it changes; a new rating is something new.
  await post(['message.disliked', id, `${rated_at}`, `${feedback_content}`], data);
}

async function notifyOfFailures({ id, record }: Change): Promise<void> {
  if (!record) return;
  const window = Math.floor(record.created_at / windowSeconds);
  if (window < state.window) return;
  if (window > state.window) state = { ...state, window, failed: {} };
  state.failed[id] = record.status === 'error';
  const all = Object.values(state.failed);
  const failed = all.filter(Boolean).length;
  if (all.length < messagesMin || failed / all.length <= failedMax) return;
  const since = new Date(window * windowSeconds * 1000).toISOString();
  await post(['failures', `${window}`], { since, messages: all.length, failed });
}

/** Ends when the receiver has accepted it. The same parts give the same id. */
async function post(parts: readonly [type: string, ...string[]], data: object): Promise<void> {
  const id = `msg_${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)}`;
  if (posted.has(id)) return;
  for (let delay = 500; ; delay = Math.min(2 * delay, 60_000)) {
    const timestamp = Math.floor(Date.now() / 1000);
    const body = JSON.stringify({ type: parts[0], timestamp: new Date(timestamp * 1000).toISOString(), data });
    const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
    const headers = { 'webhook-id': id, 'webhook-timestamp': `${timestamp}`, 'webhook-signature': `v1,${signature}` };
    const request = { method: 'POST', body, headers: { ...headers, 'content-type': 'application/json' } };
    const signal = AbortSignal.timeout(15_000);
    const status = await fetch(`${env.WEBHOOK_URL}`, { ...request, signal, redirect: 'manual' }).then(
      (response) => response.status,
      (error: Error) => error.message,
    );
    if (typeof status === 'number' && status >= 200 && status < 300) break;
    console.error(`the webhook answers ${status}: trying again in ${delay} ms`);
    await sleep(delay);
  }
  if (posted.size >= postedMax) posted.clear();
  posted.add(id);
}

function readState(): State {
  try {
    return JSON.parse(readFileSync(stateFile, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return newState();
    throw error;
  }
}

/** What comes from now on: alerts about last year help no one. */
function newState(): State {
  return { cursor: 'now', window: 0, failed: {} };
}

/** Replaced as a whole, so that a kill leaves the old or the new state. */
function writeState(): void {
  writeFileSync(`${stateFile}.new`, JSON.stringify(state));
  renameSync(`${stateFile}.new`, stateFile);
}

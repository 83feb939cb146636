import { prettyJson } from '../shared/pretty-json.ts';
import type { Operation } from './document.ts';
import { type Filled, headersOf, targetOf } from './snippets/snippets.ts';

/** A response, as it is shown. If it `isTruncated`, only the beginning is. */
export type ShownResponse = Awaited<ReturnType<typeof send>>;

const telling = /^(?:x-request-id|etag|link|ratelimit.*|retry-after|location|allow)$/;
const shownMax = 200_000;

/** Sends a request to the service that this page came from, with the typed key, or without one as the session of the console. */
export async function send(operation: Operation, filled: Filled, key: string) {
  const headers = new Headers(headersOf(operation, filled));
  const isSession = key === '' && operation.allowsSession;
  if (isSession) headers.set('Backscroll-Console', '1');
  else if (key !== '') headers.set('Authorization', `Bearer ${key}`);
  const begun = performance.now();
  const response = await fetch(targetOf(operation, filled), {
    method: operation.method,
    headers,
    credentials: isSession ? 'same-origin' : 'omit',
    cache: 'no-store',
    ...(filled.body !== '' && { body: filled.body }),
  });
  const { text, isTruncated } = await readBeginning(response);
  const millis = performance.now() - begun;
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  return {
    status: response.status,
    statusText: response.statusText,
    millis,
    headers: [...response.headers].filter(([name]) => telling.test(name)),
    text: isJson ? prettyJson(text) : text,
    isJson,
    isTruncated,
  };
}

/** An export may be larger than a page can show: the rest is not read. */
async function readBeginning(response: Response): Promise<{ text: string; isTruncated: boolean }> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const part = await reader?.read();
    if (part === undefined || part.done) return { text: text + decoder.decode(), isTruncated: false };
    text += decoder.decode(part.value, { stream: true });
    if (text.length <= shownMax) continue;
    await reader?.cancel();
    return { text: text.slice(0, shownMax), isTruncated: true };
  }
}

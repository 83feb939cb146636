import { setTimeout as sleep } from 'node:timers/promises';
import { settings } from './settings.ts';

/** The client of an embeddings endpoint that is compatible with OpenAI's. */

const { embeddingsUrl, embeddingsKey: key, model } = settings;
const url = `${embeddingsUrl}/embeddings`;
const timeoutMillis = 60_000;
const attemptsMax = 5;

/** Statuses for a text that is too long or otherwise not accepted, and for too many texts. */
const rejections: readonly number[] = [400, 413, 422];

/** The vectors of some texts; null for a text that the endpoint rejects. */
export async function embed(texts: readonly string[]): Promise<(number[] | null)[]> {
  if (texts.length === 0) return [];
  const response = await send(texts);
  if (rejections.includes(response.status)) {
    await response.body?.cancel();
    if (texts.length === 1) return [null];
    const half = Math.ceil(texts.length / 2);
    return [...(await embed(texts.slice(0, half))), ...(await embed(texts.slice(half)))];
  }
  if (!response.ok) throw new Error(`the embeddings endpoint responded with status ${response.status}`);
  const { data } = (await response.json()) as { data: { index: number; embedding: number[] }[] };
  const vectors = data.toSorted((a, b) => a.index - b.index).map(({ embedding }) => embedding);
  if (vectors.length !== texts.length) throw new Error('the embeddings endpoint returned another number of vectors');
  return vectors;
}

/** Waits and tries again while the endpoint is overloaded. */
async function send(texts: readonly string[]): Promise<Response> {
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key !== '' && { authorization: `Bearer ${key}` }) },
      body: JSON.stringify({ model, input: texts }),
      signal: AbortSignal.timeout(timeoutMillis),
    });
    const isOverloaded = response.status === 429 || response.status >= 500;
    if (!isOverloaded || attempt === attemptsMax) return response;
    await response.body?.cancel();
    await sleep(Number(response.headers.get('retry-after') ?? 2 ** attempt) * 1000);
  }
}

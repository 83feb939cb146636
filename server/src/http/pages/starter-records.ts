import { readFile } from 'node:fs/promises';

/** The records of the examples in the OpenAPI document, and the conversations around them. */
const files = ['records.ndjson', 'conversations.ndjson'].map(
  (name) => new URL(`../../../starter/${name}`, import.meta.url),
);

const timePattern = /"(created_at|updated_at|finished_at|expiration_time)":(\d{10})\b/g;
const hourSeconds = 3_600;

/**
 * The starter records, whose times move with the clock: the newest message is less than an hour old, so that every view has
 * something to show at any time. `now` is in seconds.
 */
export async function readStarterRecords(now: number): Promise<string> {
  const text = (await Promise.all(files.map((file) => readFile(file, 'utf8')))).join('');
  const times = [...text.matchAll(timePattern)]
    .filter(([, name]) => name === 'created_at')
    .map(([, , time]) => Number(time));
  const newest = times.reduce((one, other) => Math.max(one, other), 0);
  const shift = Math.floor((now - newest) / hourSeconds) * hourSeconds;
  return text.replaceAll(timePattern, (_, name: string, time: string) => `"${name}":${Number(time) + shift}`);
}

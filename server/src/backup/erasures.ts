import { randomBytes } from 'node:crypto';
import type { Tombstone } from '../domain/store/erasure.ts';
import type { Store } from '../domain/store/store.ts';
import { type Destination, readJson, writeJson } from './destination.ts';
import { newId, timeOfId } from './manifest.ts';

/** Erasures in a store of backups: a restore of an older backup applies them. They have ids and times, no text. */

const folder = 'erased/';
const perObject = 1_000;
/** The clocks of machines differ. */
const clockSeconds = 3_600;
const concurrentReads = 8;

/** Stores the erasures that the store of backups does not have. Returns their number. */
export async function sendErasures(store: Store, destination: Destination, clock: () => number): Promise<number> {
  for (let sent = 0; ; ) {
    const tombstones = await store.erasure.findUnsent(perObject);
    if (tombstones.length === 0) return sent;
    const id = newId(Math.floor(clock() / 1000), randomBytes(4).toString('hex'));
    await writeJson(destination, `${folder}${id}.json`, { erased: tombstones });
    // If the process ends before this, they are stored twice, which changes nothing.
    await store.run('keepTombstones', { tombstones, areInBackups: true });
    sent += tombstones.length;
  }
}

/** The erasures that a backup of this time may not have; and when the last object was stored, or 0. */
export async function readErasures(
  destination: Destination,
  since: number,
): Promise<{ tombstones: Tombstone[]; lastAt: number }> {
  const timeOf = (name: string) => timeOfId(name.slice(folder.length, -'.json'.length)) ?? 0;
  const names = (await destination.list(folder)).filter((name) => name.endsWith('.json')).sort();
  const later = names.filter((name) => timeOf(name) >= since - clockSeconds);
  const tombstones: Tombstone[] = [];
  for (let at = 0; at < later.length; at += concurrentReads) {
    const batch = later.slice(at, at + concurrentReads).map((name) => readObject(destination, name));
    for (const found of await Promise.all(batch)) for (const one of found) tombstones.push(one);
  }
  return { tombstones, lastAt: Math.max(0, ...names.slice(-1).map(timeOf)) };
}

async function readObject(destination: Destination, name: string): Promise<Tombstone[]> {
  const object = await readJson(destination, name, isErasures);
  if (object !== undefined) return object.erased;
  // A restore without them would bring erased texts back.
  throw new Error(`${destination.location}/${name} is damaged: remove it to restore without its erasures`);
}

function isErasures(value: { erased?: unknown } | null): value is { erased: Tombstone[] } {
  return Array.isArray(value?.erased) && value.erased.every(isTombstone);
}

function isTombstone(value: Partial<Tombstone> | null): value is Tombstone {
  const { conversation_id, message_id, at } = value ?? {};
  return typeof conversation_id === 'string' && typeof message_id === 'string' && Number.isSafeInteger(at);
}

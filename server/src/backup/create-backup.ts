import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createZstdCompress } from 'node:zlib';
import type { DatabaseFacts } from '../domain/store/monitoring.ts';
import { type Destination, writeJson } from './destination.ts';
import { dataName, findBackups, type Manifest, manifestName, newId, readManifest, timeOfId } from './manifest.ts';
import { checked } from './read-backup.ts';

/** How many complete backups stay, or those of how many days. The newest one always stays. */
export type Keep = { backups: number } | { days: number };

export type Snapshot = { path: string; facts: DatabaseFacts };

const secondsPerDay = 86_400;
const readBytes = 1_048_576;

export type Show = (step: string, bytes: number) => void;

/**
 * Compresses a snapshot into the store, reads it back, and only then writes the manifest that makes it a backup. Older backups
 * are removed after that.
 */
export async function createBackup(
  destination: Destination,
  { path, facts }: Snapshot,
  { version, keep, now, show }: { version: string; keep: Keep; now: number; show: Show },
): Promise<{ id: string; manifest: Manifest }> {
  await removeLeftovers(destination);
  const id = newId(facts.created_at, randomBytes(4).toString('hex'));
  let isComplete = false;
  try {
    const database_bytes = (await stat(path)).size;
    const written = { bytes: 0, hash: createHash('sha256') };
    const compressed = createReadStream(path, { highWaterMark: readBytes }).compose(createZstdCompress());
    // zstd adds less than this to data that cannot be compressed.
    const bytesMax = Math.ceil(database_bytes * 1.01) + readBytes;
    await destination.write(dataName(id), counted(compressed, written, show), bytesMax);
    const sha256 = written.hash.digest('hex');
    const manifest: Manifest = { version, ...facts, bytes: written.bytes, database_bytes, sha256 };
    let bytes = 0;
    for await (const chunk of checked(destination, id, manifest)) show('read back', (bytes += chunk.byteLength));
    await writeJson(destination, manifestName(id), manifest);
    await readManifest(destination, id);
    isComplete = true;
    await removeOld(destination, keep, id, now);
    return { id, manifest };
  } catch (error) {
    // If this fails too, the next run removes it.
    if (!isComplete) await removeBackup(destination, id).catch(() => undefined);
    throw error;
  }
}

async function* counted(
  content: AsyncIterable<Uint8Array>,
  written: { bytes: number; hash: ReturnType<typeof createHash> },
  show: Show,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    written.hash.update(chunk);
    written.bytes += chunk.byteLength;
    show('stored', written.bytes);
    yield chunk;
  }
}

/** Of interrupted runs. Only one run works on a store at a time. */
async function removeLeftovers(destination: Destination): Promise<void> {
  await destination.removeUnfinished();
  const { incomplete } = await findBackups(destination);
  for (const id of incomplete) for (const name of await destination.list(`${id}/`)) await destination.remove(name);
}

/** The one that was just made is the newest, also of those of its second, and if others are newer by a clock that was wrong. */
async function removeOld(destination: Destination, keep: Keep, made: string, now: number): Promise<void> {
  const { complete } = await findBackups(destination);
  const older = complete.filter((id) => id !== made);
  const isOld = (id: string) => 'days' in keep && (timeOfId(id) ?? now) < now - keep.days * secondsPerDay;
  const old = 'backups' in keep ? older.toReversed().slice(keep.backups - 1) : older.filter(isOld);
  for (const one of old) await removeBackup(destination, one);
}

/** Without its manifest, the rest is no backup: the next run removes it if this one is interrupted. */
async function removeBackup(destination: Destination, id: string): Promise<void> {
  for (const name of [manifestName(id), dataName(id)]) await destination.remove(name);
}

import type { DatabaseFacts } from '../domain/store/monitoring.ts';
import { type Destination, readJson } from './destination.ts';

/** What a backup is: written last, so that a backup with a manifest is complete. */
export type Manifest = DatabaseFacts & {
  /** Of the program that wrote it. */
  version: string;
  /** Of the compressed file, and of the database in it. */
  bytes: number;
  database_bytes: number;
  /** Of the compressed file. */
  sha256: string;
};

export const dataName = (id: string): string => `${id}/data.zst`;
export const manifestName = (id: string): string => `${id}/manifest.json`;

const idForm = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-[0-9a-f]{8}$/;

/** Ids sort by time. */
export const newId = (seconds: number, random: string): string =>
  `${new Date(seconds * 1000).toISOString().replaceAll(/[-:]|\.\d+/g, '')}-${random}`;

/** In seconds. Undefined if this is no id of a backup. */
export function timeOfId(id: string): number | undefined {
  const [, year, month, day, hour, minute, second] = idForm.exec(id) ?? [];
  const millis = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(millis) ? undefined : millis / 1000;
}

/** Ids of complete backups, oldest first, and of those that were interrupted. */
export async function findBackups(destination: Destination): Promise<{ complete: string[]; incomplete: string[] }> {
  const names = new Set(await destination.list(''));
  const ids = [...new Set([...names].map((name) => name.split('/')[0] ?? ''))]
    .filter((id) => timeOfId(id) !== undefined)
    .sort();
  const { complete = [], incomplete = [] } = Object.groupBy(ids, (id) =>
    names.has(manifestName(id)) ? 'complete' : 'incomplete',
  );
  return { complete, incomplete };
}

/** Undefined if it is damaged. */
export const findManifest = (destination: Destination, id: string): Promise<Manifest | undefined> =>
  readJson(destination, manifestName(id), isManifest);

export async function readManifest(destination: Destination, id: string): Promise<Manifest> {
  const manifest = await findManifest(destination, id);
  if (manifest !== undefined) return manifest;
  throw new Error(`${destination.location}: the manifest of backup ${id} is damaged: use another backup`);
}

function isManifest(value: Partial<Manifest> | null): value is Manifest {
  const { created_at, schema, bytes, database_bytes, version, epoch, sha256, records, valid_keys } = value ?? {};
  return (
    [created_at, schema, bytes, database_bytes].every((one) => Number.isSafeInteger(one) && Number(one) >= 0) &&
    [version, epoch].every((one) => typeof one === 'string') &&
    /^[0-9a-f]{64}$/.test(`${sha256}`) &&
    typeof records === 'object' &&
    records !== null &&
    Array.isArray(valid_keys) &&
    valid_keys.every((one) => typeof one === 'string')
  );
}

import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createZstdDecompress } from 'node:zlib';
import type { Destination } from './destination.ts';
import { dataName, findBackups, type Manifest, timeOfId } from './manifest.ts';

/** The compressed file of a backup. Throws at the end if it does not have the length and the digest of the manifest. */
export async function* checked(
  destination: Destination,
  id: string,
  { bytes: expected, sha256 }: Pick<Manifest, 'bytes' | 'sha256'>,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of destination.read(dataName(id))) {
    hash.update(chunk);
    bytes += chunk.byteLength;
    if (bytes > expected) break;
    yield chunk;
  }
  if (bytes === expected && hash.digest('hex') === sha256) return;
  const length = bytes > expected ? `more than ${expected}` : `${bytes} of ${expected}`;
  const problem = bytes === expected ? 'its digest differs' : `it has ${length} bytes`;
  throw new Error(`${destination.location}: the data of backup ${id} is damaged: ${problem}`);
}

/** The newest complete backup from `at` or before. */
export async function findBackup(destination: Destination, at: number | undefined): Promise<string> {
  const { complete } = await findBackups(destination);
  const id = complete.findLast((one) => (timeOfId(one) ?? 0) <= (at ?? Number.POSITIVE_INFINITY));
  if (id !== undefined) return id;
  const [oldest] = complete;
  throw new Error(`${destination.location}: there is no backup${oldest ? ` so old: the oldest is ${oldest}` : ''}`);
}

/** Writes the database of a backup to an empty file. */
export async function readBackup(
  { destination, id, manifest }: { destination: Destination; id: string; manifest: Manifest },
  path: string,
  show: (bytes: number) => void,
): Promise<void> {
  let written = 0;
  const wrongSize = new Error(`${destination.location}: backup ${id} does not have the size of its manifest`);
  const limit = async function* (content: AsyncIterable<Uint8Array>) {
    for await (const chunk of content) {
      written += chunk.byteLength;
      if (written > manifest.database_bytes) throw wrongSize;
      show(written);
      yield chunk;
    }
  };
  const decompress = createZstdDecompress();
  await pipeline(checked(destination, id, manifest), decompress, limit, createWriteStream(path, { flags: 'r+' })).catch(
    (error) => {
      if (!`${error.code}`.startsWith('ZSTD_')) throw error;
      throw new Error(`${destination.location}: the data of backup ${id} is damaged: ${error.message}`);
    },
  );
  if (written !== manifest.database_bytes) throw wrongSize;
}

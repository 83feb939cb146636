import { randomFillSync } from 'node:crypto';

const versionBytes = 16;
const pool = Buffer.alloc(versionBytes * 256);
let offset = pool.length;

/** A version that was never used before, not even before a restore: 128 random bits. Bits are generated in batches. */
export function newVersion(): string {
  if (offset === pool.length) {
    randomFillSync(pool);
    offset = 0;
  }
  offset += versionBytes;
  return pool.toString('base64url', offset - versionBytes, offset);
}

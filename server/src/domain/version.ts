import { randomFillSync } from 'node:crypto';

const versionBytes = 16;
const pool = Buffer.alloc(versionBytes * 256);
let at = pool.length;

/** A version that was never used before, not even before a restore: 128 random bits. They are generated for many versions at once. */
export function newVersion(): string {
  if (at === pool.length) {
    randomFillSync(pool);
    at = 0;
  }
  at += versionBytes;
  return pool.toString('base64url', at - versionBytes, at);
}

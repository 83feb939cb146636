import { createHash } from 'node:crypto';

/** Any fixed UUID: it makes the derived ids differ from those of others. */
const namespace = Buffer.from('6f1d3c52a2c14f0bb7b1c0d6a5e84d27', 'hex');

/** A UUID of version 5: the same for the same parts in every run. */
export function derivedId(...parts: readonly string[]): string {
  const hash = createHash('sha1').update(namespace).update(JSON.stringify(parts)).digest();
  hash.writeUInt8(((hash[6] ?? 0) & 0x0f) | 0x50, 6);
  hash.writeUInt8(((hash[8] ?? 0) & 0x3f) | 0x80, 8);
  return withHyphens(hash.toString('hex', 0, 16));
}

/** The UUID with these 32 hexadecimal digits. */
export const withHyphens = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

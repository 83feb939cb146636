import { randomBytes } from 'node:crypto';

/** A version never used before, also not before a restore: 128 random bits. */
export const newVersion = (): string => randomBytes(16).toString('base64url');

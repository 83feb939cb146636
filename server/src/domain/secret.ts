import { hash, randomBytes } from 'node:crypto';
import { type KeyKind, keyKindTable } from '../contract/key-kinds.ts';
import { limits } from '../contract/limits.ts';

const makeRandom = (prefix: string): string => prefix + randomBytes(limits.secretRandomBytes).toString('base64url');

/** A new secret. It is shown once, when it is created; the service stores only its digest. */
export const makeSecret = (kind: KeyKind): string => makeRandom(keyKindTable[kind].prefix);

/** A new secret for a session of the console. */
export const makeSessionSecret = (): string => makeRandom('session-');

const signInPrefix = 'signin-';

/** A new token for a sign-in link, which is exchanged for a session once. */
export const makeSignInToken = (): string => makeRandom(signInPrefix);

export const isSignInToken = (secret: string): boolean => secret.startsWith(signInPrefix);

export function digestOf(secret: string): string {
  return hash('sha256', secret, 'hex');
}

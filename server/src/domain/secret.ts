import { hash, randomBytes } from 'node:crypto';
import { type KeyKind, keyKindTable } from '../contract/key-kinds.ts';
import { limits } from '../contract/limits.ts';

/** A new secret. It is shown once, when it is created; the service stores only its digest. */
export function makeSecret(kind: KeyKind): string {
  return keyKindTable[kind].prefix + randomBytes(limits.secretRandomBytes).toString('base64url');
}

/** A new secret for a session of the console. */
export function makeSessionSecret(): string {
  return `session-${randomBytes(limits.secretRandomBytes).toString('base64url')}`;
}

const signInPrefix = 'signin-';

/** A new token for a sign-in link, which is exchanged for a session once. */
export function makeSignInToken(): string {
  return signInPrefix + randomBytes(limits.secretRandomBytes).toString('base64url');
}

export const isSignInToken = (secret: string): boolean => secret.startsWith(signInPrefix);

export function digestOf(secret: string): string {
  return hash('sha256', secret, 'hex');
}

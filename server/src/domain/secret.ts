import { hash, randomBytes } from 'node:crypto';
import { limits } from '../contract/limits.ts';
import type { KeyKind } from '../contract/record.ts';

export const secretPrefix: Record<KeyKind, string> = {
  app: 'app-',
  knowledge: 'dataset-',
  writer: 'writer-',
  admin: 'admin-',
};

/** A new secret. It is shown where it is made and nowhere else; the service keeps its digest. */
export function makeSecret(kind: KeyKind): string {
  return secretPrefix[kind] + randomBytes(limits.secretRandomBytes).toString('base64url');
}

/** The same for a session of the console. */
export function makeSessionSecret(): string {
  return `session-${randomBytes(limits.secretRandomBytes).toString('base64url')}`;
}

export function digestOf(secret: string): string {
  return hash('sha256', secret, 'hex');
}

import { hash } from 'node:crypto';

/**
 * Rate limits, the audit log and writes know one author: the id of a key, or this beginning and the id of a person who signed in
 * by name. No key has such an id.
 */
export const personPrefix = 'person:';

/** Persons are told apart by issuer and subject, never by their email address, so these two give the id: a UUID of version 8. */
export function personId({ issuer, subject }: { issuer: string; subject: string }): string {
  const digits = hash('sha256', `${issuer}\0${subject}`, 'hex');
  const variant = '89ab'[Number.parseInt(digits.charAt(16), 16) % 4];
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(13, 16)}`,
    `${variant}${digits.slice(17, 20)}`,
    digits.slice(20, 32),
  ].join('-');
}

/** The author of a request: `key_id` of its caller, and of entries of the audit log. Null for the command line. */
export function splitAuthor(author: string | null): { key_id: string | null; person_id: string | null } {
  if (author?.startsWith(personPrefix)) return { key_id: null, person_id: author.slice(personPrefix.length) };
  return { key_id: author, person_id: null };
}

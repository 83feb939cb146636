import type { ServerResponse } from 'node:http';
import type { Outage, ServiceError } from '../../domain/errors.ts';

const errors = new WeakMap<ServerResponse, ServiceError>();
const charactersMax = 200;

/** Stores the error of a response until the request is reported. */
export function noteCause(response: ServerResponse, error: ServiceError): void {
  errors.set(response, error);
}

type Cause = { code?: string; message: string; key_id?: string | undefined; outage?: Outage | undefined };

/** Why a response has a status of 400 or above, in texts that may be logged. `key_id` is that of a key of the wrong kind. */
export function causeOf(response: ServerResponse): Cause {
  const error = errors.get(response);
  if (error === undefined) return { message: '' };
  const { code, wrongKindKey: key_id, outage } = error;
  return { code, message: safeText(error.logged), key_id, outage };
}

/** Bounded, in printable ASCII, and without anything that looks like a secret. */
export const safeText = (text: string): string =>
  text
    .replace(/(?:app|dataset|writer|feed|admin|session)-[\w-]{20,}/gi, '...')
    .replace(/[^\x20-\x7e]/g, '?')
    .slice(0, charactersMax);

import type { ServerResponse } from 'node:http';
import type { Outage, ServiceError } from '../../domain/errors.ts';

/** Why a response has a status of 400 or above, in texts that may be logged. `key_id` is that of a key of the wrong kind. */
type Cause = { code?: string; message: string; key_id?: string | undefined; outage?: Outage | undefined };

const causes = new WeakMap<ServerResponse, Cause>();
const charactersMax = 200;

/** Stores the error of a response until the request is reported. */
export function noteCause(
  response: ServerResponse,
  { code, logged, wrongKindKey: key_id, outage }: ServiceError,
): void {
  causes.set(response, { code, message: safeText(logged), key_id, outage });
}

/** Stores that a response is that of the upstream, whose errors are not read. */
export function noteUpstream(response: ServerResponse): void {
  causes.set(response, { message: 'response of the upstream' });
}

export const causeOf = (response: ServerResponse): Cause => causes.get(response) ?? { message: '' };

/** Bounded, in printable ASCII, and without anything that looks like a secret. */
export const safeText = (text: string): string =>
  text
    .replace(/(?:app|dataset|writer|feed|admin|session)-[\w-]{20,}/gi, '...')
    .replace(/[^\x20-\x7e]/g, '?')
    .slice(0, charactersMax);

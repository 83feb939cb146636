import type { Static } from 'typebox';
import { limits } from '../limits.ts';
import { choice, epochSeconds, flag, id, input, integer, named, nullable, text } from '../primitives.ts';
import { Type } from '../type.ts';
import { roles } from './roles.ts';

const identity = (description: string) => Type.String({ maxLength: limits.idUnitsMax, description });

/** The fields of a record, in whole exports. */
export const personFields = {
  id: { ...id('Person ID. Only the one that belongs to `issuer` and `subject`, which is the default.'), default: null },
  issuer: identity('Issuer of the identity provider.'),
  subject: identity('Subject at that issuer.'),
  name: text('Name.'),
  email: nullable(text('Email address. It identifies no one.')),
  role: choice(roles, 'What the person may do.'),
  blocked: { ...flag('Whether the person may not sign in.'), default: false },
};

export const PersonListed = named('Person', 'A person who signed in by name.', {
  id: id('Person ID.'),
  issuer: text('Issuer of the identity provider.'),
  subject: text('Subject at that issuer.'),
  name: text('Name at the last sign-in.'),
  email: nullable(text('Email address at the last sign-in.')),
  role: choice(roles, 'Role since the last sign-in.'),
  role_source: nullable(text('The value of the claim that gave the role; null for `OIDC_DEFAULT_ROLE`, or an import.')),
  blocked: flag('Whether the person may not sign in.'),
  last_seen_at: nullable(
    epochSeconds(`Time of the last request, stored every ${limits.lastUsedIntervalMillis / 1000} seconds.`),
  ),
  sessions: integer('Sessions of the console that have not ended.'),
});
export type PersonListed = Static<typeof PersonListed>;

export const PersonChange = input('PersonChange', 'A change of a person.', {
  blocked: flag('Whether the person may not sign in. A person who gets blocked is signed out.'),
});

import { limits } from '../../contract/limits.ts';
import { personId } from '../author.ts';
import { digestOf, makeSessionSecret } from '../secret.ts';
import type { IdentifiedPerson } from '../store/keys.ts';
import type { Store } from '../store/store.ts';
import { type RoleRules, roleOf } from './role.ts';

/** Sign-in by name with OpenID Connect. */
export type OidcOptions = {
  issuer: string;
  client_id: string;
  client_secret: string | undefined;
  scopes: string;
  /** Of the provider, for the sign-in page. */
  name: string;
  session_seconds: number;
  /** The address by which people reach this installation, without a slash at its end. */
  public_url: string;
  rules: RoleRules;
};

export type SignedIn = { outcome: 'signed in'; secret: string } | { outcome: 'no_role' | 'blocked' | 'failed' };

/** What to check, by the code of an error of the libraries. */
export const signInProblems: Readonly<Record<string, string>> = {
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: 'the clock of this machine or of the provider is wrong',
  OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED: 'OIDC_ISSUER is not the issuer that the provider names',
  OAUTH_JWT_CLAIM_COMPARISON_FAILED: 'the token is for another client, from another issuer, or of another sign-in',
  OAUTH_KEY_SELECTION_FAILED: 'the provider has no such key; if it has just changed its keys, try again in a minute',
  OAUTH_INVALID_RESPONSE: 'the response of the provider is not valid',
  OAUTH_RESPONSE_IS_NOT_CONFORM: 'OIDC_ISSUER is not the address of an identity provider',
  OAUTH_TIMEOUT: 'the provider does not respond',
  invalid_client: 'OIDC_CLIENT_ID or OIDC_CLIENT_SECRET is wrong',
  access_denied: 'the provider denied access',
};

type Claims = { readonly iss: string; readonly sub: string; readonly [name: string]: unknown };
type Input = { claims: Claims; sid: string | null; rules: RoleRules; session_seconds: number; now: number };

/** Stores the person and opens a session, unless the person has no role or is blocked. `problem` is for the log. */
export async function signIn(
  store: Store,
  { claims, sid, rules, session_seconds, now }: Input,
): Promise<SignedIn & { problem: string | undefined }> {
  const { iss: issuer, sub: subject, name, preferred_username, email } = claims;
  const { role, source, problem } = roleOf(claims, rules);
  if (role === undefined) return { outcome: 'no_role', problem };
  if (subject.length > limits.idUnitsMax || storable(subject) !== subject)
    return { outcome: 'failed', problem: 'the subject is too long, or no text' };
  const names = [name, preferred_username, email, subject].filter((one) => typeof one === 'string' && one !== '');
  const person: IdentifiedPerson = {
    id: personId({ issuer, subject }),
    issuer,
    subject,
    name: storable(`${names[0]}`),
    email: typeof email === 'string' ? storable(email) : null,
    role,
    role_source: source && storable(source),
  };
  const secret = makeSessionSecret();
  const times = { created_at: now, expires_at: now + session_seconds };
  const session = { digest: digestOf(secret), sid, ...times };
  const isOpen = await store.run('signIn', { person, session });
  return isOpen ? { outcome: 'signed in', secret, problem } : { outcome: 'blocked', problem: 'the person is blocked' };
}

/** A text of a provider as the database can store it. */
const storable = (text: string): string =>
  text.toWellFormed().replaceAll('\0', '').slice(0, limits.idUnitsMax).toWellFormed();

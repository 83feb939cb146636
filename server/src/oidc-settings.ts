import { type Role, roles } from './contract/people/roles.ts';
import type { OidcOptions } from './domain/people/sign-in.ts';
import { address, choice, duration, fromFile, optionalText, type Setting, secret, text } from './setting-kinds.ts';

export const oidcSettings = {
  sign_in: choice('any', ['any', 'oidc', 'key'], 'what opens the console'),
  oidc_issuer: address(
    'the https:// address of the identity provider, as in the `issuer` of its discovery document',
    'the identity provider for sign-in by name to the console with OpenID Connect; requires PUBLIC_URL',
    // With the address of the document itself, the library would not compare the issuer.
    (text) => isSafeAddress(text) && !/[?#]|\/\.well-known\//.test(text),
  ),
  oidc_client_id: optionalText('visible ASCII without spaces', 'the client at that provider', /^[\x21-\x7e]+$/),
  oidc_client_secret: fromFile(secret('the secret of that client')),
  oidc_scopes: text('openid profile email', 'scopes with `openid`', 'requested scopes', /^(\S+ )*openid( \S+)*$/),
  oidc_role_claim: optionalText(
    'the name of a claim',
    'the claim with roles or groups, also nested such as `realm_access.roles`',
    /^\S+$/,
  ),
  oidc_roles: {
    fallback: undefined,
    allowed: `VALUE=ROLE,… with the roles ${roles.join(', ')}`,
    help: 'which value of the claim means which role, such as `support=viewer,ops=admin`; the highest counts',
    parse: parseRoles,
  } satisfies Setting<ReadonlyMap<string, Role> | undefined>,
  oidc_default_role: {
    ...choice<Role>('viewer', roles, 'role of people without such a value; if it is not set, they may not enter'),
    fallback: undefined,
  },
  oidc_name: optionalText(
    'a text of at most 60 characters',
    "the provider's name on the sign-in page (default: its host)",
    /^.{1,60}$/,
  ),
  oidc_session: duration(
    '12h',
    [300, 2_592_000],
    'a time from 5m to 30d, such as 12h',
    'length of a session of sign-in by name',
  ),
};

type Values = {
  [K in keyof typeof oidcSettings]: ReturnType<(typeof oidcSettings)[K]['parse']> | undefined;
} & { public_url: string | undefined };

/** Sign-in by name, if it is on. */
export function oidcOf(values: Values): OidcOptions | undefined {
  const { oidc_issuer: issuer, oidc_client_id: client_id, public_url } = values;
  if (values.sign_in === 'key' || issuer === undefined || client_id === undefined || public_url === undefined) return;
  return {
    issuer,
    client_id,
    client_secret: values.oidc_client_secret,
    scopes: values.oidc_scopes ?? '',
    name: values.oidc_name ?? new URL(issuer).host,
    session_seconds: values.oidc_session ?? 0,
    public_url,
    rules: {
      claim: values.oidc_role_claim,
      roles: values.oidc_roles ?? new Map(),
      defaultRole: values.oidc_default_role,
    },
  };
}

/** What is wrong with settings that are valid by themselves. */
export function findOidcProblem(values: Values): string | undefined {
  const { oidc_issuer: issuer, public_url, oidc_roles } = values;
  if (issuer === undefined) return values.sign_in === 'oidc' ? 'SIGN_IN=oidc: requires OIDC_ISSUER' : undefined;
  if (public_url === undefined) return 'PUBLIC_URL is required with OIDC_ISSUER';
  if (!isSafeAddress(public_url))
    return `PUBLIC_URL=${public_url}: must be https://… with OIDC_ISSUER, or of this machine`;
  if (values.oidc_client_id === undefined) return 'OIDC_CLIENT_ID is required with OIDC_ISSUER';
  if ((oidc_roles === undefined) !== (values.oidc_role_claim === undefined))
    return 'OIDC_ROLES and OIDC_ROLE_CLAIM are required together';
  if (oidc_roles === undefined && values.oidc_default_role === undefined)
    return 'OIDC_ROLES or OIDC_DEFAULT_ROLE is required with OIDC_ISSUER: otherwise no one may enter';
}

/** Only a loopback address may be without TLS. */
function isSafeAddress(text: string): boolean {
  const url = /^https?:\/\/[^\s@]+$/i.test(text) ? URL.parse(text) : null;
  if (url === null || url.username !== '') return false;
  return url.protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
}

/** A value may contain `=` and commas, as a distinguished name does: it ends at the next role. */
function parseRoles(text: string): ReadonlyMap<string, Role> | undefined {
  const pattern = new RegExp(`\\s*([^,\\s].*?)=(${roles.join('|')})\\s*(?:,|$)`, 'gy');
  const pairs = [...text.matchAll(pattern)];
  const isWhole = pairs.reduce((length, [pair]) => length + pair.length, 0) === text.length;
  return isWhole ? new Map(pairs.map(([, value = '', role]) => [value, role as Role])) : undefined;
}

import { type Role, roles } from '../../contract/people/roles.ts';

/** How the claims of a person give the role. */
export type RoleRules = {
  /** The claim with roles or groups, also nested: `realm_access.roles`. */
  claim: string | undefined;
  roles: ReadonlyMap<string, Role>;
  /** Of people without a value in `roles`; without it they may not enter. */
  defaultRole: Role | undefined;
};

type Claims = Readonly<Record<string, unknown>>;
/** `source`: the value that gave the role; null for the default. `problem`: why the claim gave none, for the log. */
type FoundRole = { role: Role | undefined; source: string | null; problem: string | undefined };

/** The value of a claim. Its name may contain dots, as addresses do. */
export function claimOf(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Claims)[part];
  }
  return value;
}

/** The highest role that the claims give. */
export function roleOf(claims: Claims, { claim, roles: byValue, defaultRole }: RoleRules): FoundRole {
  const byDefault = (problem: string | undefined): FoundRole => ({ role: defaultRole, source: null, problem });
  if (claim === undefined) return byDefault(undefined);
  const value = claimOf(claims, claim);
  if (value === undefined) return byDefault(missing(claims, claim));
  const values = Array.isArray(value) ? value : [value];
  const texts = values.filter((one) => typeof one === 'string');
  if (texts.length < values.length) return byDefault(`the claim ${claim} is neither a text nor a list of texts`);
  const sources = roles.toReversed().flatMap((role) => texts.find((one) => byValue.get(one) === role) ?? []);
  const [source] = sources;
  const role = source === undefined ? undefined : byValue.get(source);
  if (source !== undefined && role !== undefined) return { role, source, problem: undefined };
  return byDefault(`no value of the claim ${claim} is in OIDC_ROLES: ${JSON.stringify(texts.slice(0, shownMax))}`);
}

/** Values of a claim in the log. */
const shownMax = 10;

/** Entra ID leaves the claim out and names another place, if someone is in too many groups. */
function missing(claims: Claims, claim: string): string {
  const elsewhere = claims._claim_names;
  const isOverage = typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, claim);
  return isOverage
    ? `the claim ${claim} is too large for the token (an overage claim, _claim_names): let the provider send only the groups that are assigned to the application, or app roles`
    : `the claim ${claim} is missing`;
}

import type { FastifyBaseLogger } from 'fastify';
import type { createRemoteJWKSet } from 'jose';
import type { Configuration } from 'openid-client';
import { asError } from '../../domain/errors.ts';
import { claimOf } from '../../domain/people/role.ts';
import { type OidcOptions, type SignedIn, signIn, signInProblems } from '../../domain/people/sign-in.ts';
import type { Logout } from '../../domain/store/keys.ts';
import type { Store } from '../../domain/store/store.ts';

/** What opens the console, and sign-in by name, if it is on. */
export type SignInOptions = { sign_in: 'any' | 'oidc' | 'key'; oidc?: OidcOptions | undefined };

type Needs = { store: Store; clock: () => number; logger: FastifyBaseLogger };

export const oidcPath = '/console/oidc';
/** How long what the provider says about itself, and its keys, are cached: a new key is followed after that. */
const configurationMillis = 60_000;
/** For each request to the provider. */
const requestSeconds = 10;
const clockToleranceSeconds = 30;
/** A logout token is not accepted later. Its id is kept as long. */
const logoutTokenSeconds = 600;
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/** What the browser keeps between the start of a sign-in and its end. Nothing is stored here before the code is exchanged. */
export type Pending = { state: string; nonce: string; verifier: string };

/** Signs people in at the provider. Its library is loaded with the first sign-in. */
export class Oidc {
  readonly options: OidcOptions;
  readonly #needs: Needs;
  /** The keys of logout tokens, so that invalid tokens do not load the provider. */
  readonly #keys = new WeakMap<Configuration, ReturnType<typeof createRemoteJWKSet>>();
  #cached: { until: number; configuration: Promise<Configuration> } | undefined;

  constructor(options: OidcOptions, needs: Needs) {
    this.options = options;
    this.#needs = needs;
  }

  /** Undefined if the provider cannot be used now; the log says why. */
  async start(): Promise<{ url: string; pending: Pending } | undefined> {
    try {
      const client = await import('openid-client');
      const [state, nonce, verifier] = [client.randomState(), client.randomNonce(), client.randomPKCECodeVerifier()];
      const url = client.buildAuthorizationUrl(await this.#configuration(), {
        redirect_uri: `${this.options.public_url}${oidcPath}/callback`,
        scope: this.options.scopes,
        ...{ state, nonce },
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
      return { url: url.href, pending: { state, nonce, verifier } };
    } catch (error) {
      this.#warn(error);
      return undefined;
    }
  }

  /** Exchanges the code in the query of the callback for a session, or says why not. */
  async finish(query: string, pending: Pending): Promise<SignedIn> {
    try {
      const configuration = await this.#configuration();
      const { claims, sid } = await this.#claims(configuration, query, pending);
      const now = Math.floor(this.#needs.clock() / 1000);
      const { rules, session_seconds } = this.options;
      const { problem, ...result } = await signIn(this.#needs.store, { claims, sid, rules, session_seconds, now });
      if (problem !== undefined)
        this.#needs.logger.warn({ subject: claims.sub, result: result.outcome }, `sign-in by name: ${problem}`);
      return result;
    } catch (error) {
      this.#warn(error);
      return { outcome: 'failed' };
    }
  }

  /** The claims of the ID token, and those of userinfo if it lacks the role or the name. */
  async #claims(configuration: Configuration, query: string, { state, nonce, verifier }: Pending) {
    const { authorizationCodeGrant, fetchUserInfo } = await import('openid-client');
    const url = new URL(`${this.options.public_url}${oidcPath}/callback${query}`);
    const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
    const tokens = await authorizationCodeGrant(configuration, url, checks);
    const claims = tokens.claims();
    if (claims === undefined) throw new Error('there is no ID token');
    const sid = typeof claims.sid === 'string' ? claims.sid : null;
    const isWanted = (name: string | undefined) => name !== undefined && claimOf(claims, name) === undefined;
    const isIncomplete = isWanted(this.options.rules.claim) || isWanted('name');
    if (!isIncomplete || configuration.serverMetadata().userinfo_endpoint === undefined) return { claims, sid };
    const more = await fetchUserInfo(configuration, tokens.access_token, claims.sub);
    return { claims: { ...more, ...claims }, sid };
  }

  /** Ends the sessions that a logout token of the provider names. False if the token is not valid. */
  async logout(token: string): Promise<boolean> {
    try {
      const logout = await this.#verifyLogout(token);
      const isNew = await this.#needs.store.run('endSessionsOf', logout);
      if (!isNew) this.#needs.logger.warn('sign-out by the provider: the logout token was used before');
      return isNew;
    } catch (error) {
      this.#needs.logger.warn(
        { cause: asError(error).message },
        'sign-out by the provider: the logout token is not valid',
      );
      return false;
    }
  }

  /** `openid-client` does not check logout tokens. */
  async #verifyLogout(token: string): Promise<Logout> {
    const { jwtVerify, createRemoteJWKSet } = await import('jose');
    const configuration = await this.#configuration();
    const { issuer, jwks_uri = '', id_token_signing_alg_values_supported: supported } = configuration.serverMetadata();
    const keys = this.#keys.get(configuration) ?? createRemoteJWKSet(new URL(jwks_uri));
    this.#keys.set(configuration, keys);
    const algorithms = (supported ?? ['RS256']).filter((one) => /^(RS|PS|ES)\d+$|^Ed/.test(one));
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience: this.options.client_id,
      algorithms,
      requiredClaims: ['iat', 'jti', 'events'],
      maxTokenAge: logoutTokenSeconds,
      clockTolerance: clockToleranceSeconds,
    });
    const { sub, sid, jti = '', events, nonce } = payload;
    if (typeof events !== 'object' || events === null || !Object.hasOwn(events, logoutEvent))
      throw new Error('no event');
    if (nonce !== undefined) throw new Error('it has a nonce');
    if (sub === undefined && typeof sid !== 'string') throw new Error('it names neither a session nor a person');
    const expires_at = Math.floor(this.#needs.clock() / 1000) + logoutTokenSeconds + 2 * clockToleranceSeconds;
    return { issuer, subject: sub, sid: typeof sid === 'string' ? sid : undefined, jti, expires_at };
  }

  /** Where the browser goes after signing out here, to sign out at the provider too. */
  async signOutUrl(): Promise<string> {
    const home = `${this.options.public_url}/console`;
    try {
      const { buildEndSessionUrl } = await import('openid-client');
      const configuration = await this.#configuration();
      if (configuration.serverMetadata().end_session_endpoint === undefined) return home;
      return buildEndSessionUrl(configuration, { post_logout_redirect_uri: home }).href;
    } catch (error) {
      this.#warn(error);
      return home;
    }
  }

  #configuration(): Promise<Configuration> {
    const now = this.#needs.clock();
    if (this.#cached !== undefined && now < this.#cached.until) return this.#cached.configuration;
    const configuration = this.#discover();
    const cached = { until: now + configurationMillis, configuration };
    this.#cached = cached;
    // A failure is not cached.
    configuration.catch(() => {
      if (this.#cached === cached) this.#cached = undefined;
    });
    return configuration;
  }

  async #discover(): Promise<Configuration> {
    const client = await import('openid-client');
    const { issuer, client_id, client_secret: secret } = this.options;
    const url = new URL(issuer);
    const insecure = url.protocol === 'http:' ? [client.allowInsecureRequests] : [];
    const metadata = { [client.clockTolerance]: clockToleranceSeconds };
    const auth: Parameters<typeof client.discovery>[3] = (as, ...rest) => {
      if (secret === undefined) return client.None()(as, ...rest);
      const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = as;
      const isBasic = methods.includes('client_secret_basic');
      return (isBasic ? client.ClientSecretBasic(secret) : client.ClientSecretPost(secret))(as, ...rest);
    };
    const options = { execute: [...insecure, client.enableNonRepudiationChecks], timeout: requestSeconds };
    const configuration = await client.discovery(url, client_id, metadata, auth, options);
    const { issuer: foundIssuer } = configuration.serverMetadata();
    // The library accepts other ones of some providers, which would let in people of other organisations.
    if (new URL(foundIssuer).href !== url.href) throw new Error(`the provider says that its issuer is ${foundIssuer}`);
    return configuration;
  }

  /** One line that says what to do. It never has a token: messages of the libraries name claims, not their values. */
  #warn(thrown: unknown): void {
    const error: Error & { code?: string; error?: string } = asError(thrown);
    const { message, cause } = error;
    // The provider's own code, which may be from the address of a request.
    const code = /^\w{1,60}$/.exec(error.error ?? error.code ?? '')?.[0] ?? '';
    const reason = cause instanceof Error ? `${message}: ${cause.message}` : message;
    const advice = signInProblems[code] ?? 'the provider cannot be used now';
    this.#needs.logger.warn({ issuer: this.options.issuer, code, cause: reason }, `sign-in by name: ${advice}`);
  }
}

import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import Provider from 'oidc-provider';
import { freePort } from '../support/cli-helpers.ts';

/** Signs in at a service as a browser does, with the cookies of both sides. */
export class Visitor {
  readonly #cookies = new Map<string, Map<string, string>>();

  /** Follows redirects, also to the provider, until a page of the service or of the provider that is none. */
  async follow(url: string): Promise<{ url: string; status: number; text: string; visited: string[] }> {
    const visited: string[] = [];
    for (let next = url; visited.length < 20; ) {
      visited.push(next);
      const response = await this.get(next);
      const location = response.headers.get('location');
      if (location === null || response.status >= 400)
        return { url: next, status: response.status, text: await response.text(), visited };
      next = new URL(location, next).href;
      // A page of the console: its fragment is not sent.
      if (new URL(next).pathname === '/console') return { url: next, status: response.status, text: '', visited };
    }
    throw new Error(`too many redirects: ${visited}`);
  }

  async get(url: string, headers: Record<string, string> = {}): Promise<Response> {
    const { host, pathname } = new URL(url);
    const jar = this.#cookies.get(host) ?? new Map<string, string>();
    this.#cookies.set(host, jar);
    const isSent = (name: string) => !name.endsWith('backscroll_sign_in') || pathname.startsWith('/console/oidc');
    const cookie = [...jar].flatMap(([name, value]) => (isSent(name) ? `${name}=${value}` : [])).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: { cookie, ...headers } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '' || /max-age=0|expires=thu, 01 jan 1970/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  }

  cookie(base: string, name: string): string | undefined {
    return this.#cookies.get(new URL(base).host)?.get(name);
  }

  allCookies(base: string): string {
    const jar = this.#cookies.get(new URL(base).host) ?? new Map();
    return [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  setCookie(base: string, name: string, value: string): void {
    this.#cookies.get(new URL(base).host)?.set(name, value);
  }

  /** A request of the console, with its session. */
  async api(base: string, path: string, options: { method?: string; body?: object } = {}): Promise<ApiResponse> {
    const cookie = `backscroll_session=${this.cookie(base, 'backscroll_session')}`;
    const { method = 'GET', body } = options;
    const headers = { cookie, 'backscroll-console': '1', ...(body && { 'content-type': 'application/json' }) };
    const response = await fetch(`${base}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const text = await response.text();
    return { status: response.status, text, body: text.startsWith('{') ? JSON.parse(text) : undefined };
  }
}

// biome-ignore lint/suspicious/noExplicitAny: tests read responses freely
type ApiResponse = { status: number; text: string; body: any };

export type Account = { sub: string; name?: string; email?: string; [claim: string]: unknown };

/** A real provider, `oidc-provider`, that signs in whom `account` names, without a page of its own. */
export async function startProvider(service: { base: string }) {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const state: { account: Account; inToken: boolean } = {
    account: { sub: 'ann', name: 'Ann', email: 'ann@example.com', groups: ['support'] },
    inToken: true,
  };
  const jwk = () => ({
    ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }),
    ...{ kid: randomUUID(), use: 'sig', alg: 'RS256' },
  });
  let server: http.Server | undefined;
  const start = async () => {
    const provider = new Provider(issuer, configurationOf(service.base, state, jwk()));
    server = http.createServer((request, response) => void handle(provider, state, request, response));
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const stop = async () => {
    server?.closeAllConnections();
    server?.close();
  };
  await start();
  return {
    issuer,
    state,
    stop,
    start,
    /** Starts again, with other keys, and without its sessions. */
    rotate: async () => {
      await stop();
      await start();
    },
    settings: {
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: 'backscroll',
      OIDC_CLIENT_SECRET: clientSecret,
      PUBLIC_URL: service.base,
    },
  };
}

export type IdentityProvider = Awaited<ReturnType<typeof startProvider>>;

const clientSecret = 'a-secret:of/the+client%';

function configurationOf(base: string, state: { account: Account; inToken: boolean }, jwk: object): object {
  const claimNames = ['name', 'email', 'groups', 'realm_access', '_claim_names'];
  return {
    jwks: { keys: [jwk] },
    clients: [
      {
        client_id: 'backscroll',
        client_secret: clientSecret,
        redirect_uris: [`${base}/console/oidc/callback`],
        post_logout_redirect_uris: [`${base}/console`],
        backchannel_logout_uri: `${base}/console/oidc/logout`,
        backchannel_logout_session_required: true,
        response_types: ['code'],
        grant_types: ['authorization_code'],
      },
    ],
    claims: { openid: ['sub', 'sid'], profile: claimNames },
    scopes: ['openid', 'profile', 'email'],
    pkce: { required: () => true },
    conformIdTokenClaims: false,
    cookies: { keys: ['test'] },
    features: {
      devInteractions: { enabled: false },
      backchannelLogout: { enabled: true },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: (ctx: { body: string }, form: string) => {
          ctx.body = form;
        },
      },
    },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/sign-in/${uid}` },
    findAccount: (_: unknown, sub: string) => ({
      accountId: sub,
      claims: (use: string) => (use === 'id_token' && !state.inToken ? { sub } : { ...state.account, sub }),
    }),
    // Its own dispatcher refuses loopback addresses.
    fetch: (url: string, { dispatcher: _, ...options }: { dispatcher: unknown }) => fetch(url, options),
    ttl: { Interaction: 600, Session: 3600, Grant: 3600, IdToken: 3600, AccessToken: 3600, AuthorizationCode: 60 },
    renderError: (ctx: { body: string }, out: { error: string; error_description?: string }, error: Error) => {
      ctx.body = `${out.error}: ${out.error_description ?? ''} ${error.message}`;
    },
  };
}

/** Instead of pages of the provider: signs in and consents at once. */
async function handle(
  // biome-ignore lint/suspicious/noExplicitAny: the package has no types
  provider: any,
  state: { account: Account },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (!request.url?.startsWith('/sign-in/')) return provider.callback()(request, response);
  const { prompt, params } = await provider.interactionDetails(request, response);
  const accountId = state.account.sub;
  if (prompt.name === 'login') return provider.interactionFinished(request, response, { login: { accountId } });
  const grant = new provider.Grant({ accountId, clientId: params.client_id });
  grant.addOIDCScope('openid profile email');
  const grantId = await grant.save();
  return provider.interactionFinished(request, response, { consent: { grantId } }, { mergeWithLastSubmission: true });
}

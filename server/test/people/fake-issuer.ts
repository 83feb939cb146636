import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import type { Visitor } from './identity-provider.ts';

type Tokens = Record<string, unknown>;
type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>;

/** An issuer that says what a test wants, also what no provider would. */
export async function startFakeIssuer() {
  const keys = await generateKeyPair('RS256', { extractable: true });
  const state = {
    /** Changes of the discovery document. */
    metadata: {} as Record<string, unknown>,
    /** The response of the token endpoint. */
    tokens: (): Tokens | Promise<Tokens> => ({}),
    exchanged: [] as URLSearchParams[],
  };
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const send = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.url?.startsWith('/.well-known/')) return send(200, { ...described(), ...state.metadata });
    if (request.url === '/jwks') return send(200, { keys: [{ ...(await exportJWK(keys.publicKey)), kid: 'one' }] });
    if (request.url !== '/token') return send(404, {});
    state.exchanged.push(new URLSearchParams(Buffer.concat(chunks).toString()));
    const tokens = await state.tokens();
    send(tokens.error === undefined ? 200 : 400, tokens);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const described = () => ({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
  });
  const sign = (claims: JWTPayload, { privateKey }: Pick<KeyPair, 'privateKey'> = keys, header = {}) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'one', ...header }).sign(privateKey);
  return {
    issuer,
    state,
    sign,
    claims: (more: Record<string, unknown> = {}): JWTPayload => {
      const now = Math.floor(Date.now() / 1000);
      return { iss: issuer, aud: 'backscroll', sub: 'ann', name: 'Ann', iat: now, exp: now + 300, ...more };
    },
    stop: () => server.close(),
    settings: (base: string) => ({
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: 'backscroll',
      OIDC_CLIENT_SECRET: 'secret',
      OIDC_DEFAULT_ROLE: 'viewer',
      PUBLIC_URL: base,
    }),
  };
}

export type FakeIssuer = Awaited<ReturnType<typeof startFakeIssuer>>;

/** Starts a sign-in, and returns what the provider would get. */
export async function startSignIn(visitor: Visitor, base: string): Promise<URLSearchParams> {
  const response = await visitor.get(`${base}/console/oidc/start`);
  return new URL(response.headers.get('location') ?? '').searchParams;
}

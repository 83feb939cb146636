import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createNetServer, type ListenOptions, type Socket } from 'node:net';
import { limits } from '../contract/limits.ts';
import { ServiceError } from '../domain/errors.ts';
import type { Connections } from './front/connections.ts';
import { FastLane } from './front/fast-lane.ts';
import { gate } from './front/gate.ts';
import { afterPending, writeError } from './front/socket-responses.ts';
import { requestIdOf } from './observe/observe.ts';
import type { Dependencies, Handler } from './route-types.ts';

/** Time between two looks for headers that have taken too long. */
const headersCheckMillis = 2_000;

const options = {
  maxHeaderSize: limits.headerBytesMax,
  keepAliveTimeout: limits.keepAliveMillis,
  headersTimeout: limits.headersMillisMax,
  connectionsCheckingInterval: headersCheckMillis,
  // An upload may take long. `request/body.ts` sets time limits for bodies.
  requestTimeout: 0,
  // `app.ts` checks it, so that the error has our body.
  requireHostHeader: false,
};

/**
 * The HTTP server. Every request passes through these handlers, in this order:
 *
 * 1. `gate` rejects it with 503 if the service is overloaded.
 * 2. `connections` delays it while an earlier request on the same connection has no response yet.
 * 3. `fastLane` responds to plain requests for a page of messages.
 * 4. `framework` is Fastify with the hooks and routes of `app.ts`.
 */
export function createServer(framework: Handler, connections: Connections, dependencies: Dependencies): Server {
  const { hasFastLane } = dependencies;
  const inOrder = connections.inOrder(
    hasFastLane ? new FastLane(framework, connections, dependencies).handle : framework,
  );
  const handle = connections.arrived(gate(inOrder, dependencies));
  // Not imported: an import would evaluate all exports of the module, including the client that `fetch` uses.
  const server = process.getBuiltinModule('node:http').createServer(options, handle);
  // Bounded by their bytes. By default Node hides those after the first thousand, also from what reads the length of a body.
  server.maxHeadersCount = 0;
  connections.track(server);

  // Without these listeners Node would respond itself: without our error body, or before earlier requests. For
  // `clientError`, what the HTTP parser rejects, `app.ts` gives Fastify the listener, since Fastify would add its own.
  server.on('checkExpectation', handle);
  server.on('checkContinue', (request, response) =>
    afterEarlier(response, () => {
      response.writeContinue();
      handle(request, response);
    }),
  );
  server.on('connect', (request, socket: Socket) => rejectConnect(request, socket));
  return server;
}

/** Waits for the responses to earlier requests on the connection: `100 Continue` must not end up inside one of them. */
function afterEarlier(response: ServerResponse, proceed: () => void): void {
  if (response.socket === null) response.once('socket', proceed);
  else proceed();
}

function rejectConnect(request: IncomingMessage, socket: Socket): void {
  // Node has detached the socket, and an error without a listener would end the process.
  socket.on('error', () => socket.destroy());
  afterPending(socket, () => {
    const error = new ServiceError('method_not_allowed', 'CONNECT is not supported');
    writeError(socket, error, requestIdOf(request), { allow: 'GET, HEAD' });
  });
}

/**
 * Listens on the other addresses of `localhost` too: it often has one for IPv4 and one for IPv6. Fastify does so only for
 * servers that it creates itself (`multipleBindings` in its `lib/server.js`).
 */
export async function listenOnLocalhost(server: Server, reusePort: boolean): Promise<void> {
  const { lookup } = await import('node:dns/promises');
  const { address, port } = server.address() as AddressInfo;
  for (const other of await lookup('localhost', { all: true })) {
    if (other.address !== address) await listenAlso(server, { host: other.address, port, reusePort });
  }
}

/** Listens on one more address until the server closes. An address that is not available is left out. */
export async function listenAlso(server: Server, address: ListenOptions): Promise<void> {
  // With the options of an HTTP server.
  const options = { allowHalfOpen: true, noDelay: true };
  const second = createNetServer(options, (socket) => void server.emit('connection', socket));
  server.once('close', () => second.close());
  await new Promise<void>((resolve) => second.once('error', () => resolve()).listen(address, resolve));
}

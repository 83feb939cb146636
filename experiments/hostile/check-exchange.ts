import { overloaded } from '../../server/src/domain/errors.ts';
import { checkResponse } from '../../server/test/support/openapi-check.ts';
import { MalformedResponse, parseResponses, type RawResponse } from '../support/raw-responses.ts';
import { type Exchange, type HostileRequest, smuggledId } from './exchange.ts';

/** Bytes received on a connection. */
export type Outcome = { bytes: Buffer; millis: number; isTimedOut: boolean };

export type CheckedExchange = {
  /** Violations, each with the request it is about. */
  faults: string[];
  responses: RawResponse[];
  /** Requests that an overloaded service rejected. On a busy machine that is no fault, and they must be sent again. */
  overloadCount: number;
};

/** Compares what a connection received with what its requests expect. */
export function checkExchange(exchange: Exchange, { bytes, isTimedOut }: Outcome): CheckedExchange {
  const { requests } = exchange;
  const faults: string[] = [];
  if (isTimedOut) faults.push('the connection hangs');
  let parsed: ReturnType<typeof parseResponses>;
  try {
    // A malformed request is rejected with a body, whatever its method seems to be.
    const isHeadResponse = (index: number, headers: Record<string, string>) =>
      requests[index]?.method === 'HEAD' && isOwnResponse(requests[index], headers);
    parsed = parseResponses(bytes, isHeadResponse, true);
  } catch (error) {
    if (!(error instanceof MalformedResponse)) throw error;
    return { faults: [...faults, `malformed response: ${error.message}`], responses: [], overloadCount: 0 };
  }
  const { responses, rest } = parsed;
  if (rest.length > 0 && !mayLoseResponses(exchange))
    faults.push(`a response is truncated: ${rest.toString('latin1', 0, 200)}`);
  const overloadCount = responses.filter((response, index) => isOverload(requests[index], response)).length;
  if (responses.length > requests.length && overloadCount === 0)
    faults.push(`${responses.length} responses to ${requests.length} requests`);
  if (responses.some(({ headers }) => headers['x-request-id'] === smuggledId))
    faults.push(`a response to a smuggled request: ${requests.map(({ description }) => description).join(', ')}`);
  let isOver = false;
  for (const [index, request] of requests.entries()) {
    const response = responses[index];
    const report = (fault: string) => {
      const received = response && `; received ${response.status} ${response.body.toString('utf8', 0, 200)}`;
      faults.push(`${request.description}: ${fault}: ${request.bytes.toString('latin1', 0, 300)}${received ?? ''}`);
    };
    if (response === undefined) {
      if (!isOver && !mayLoseResponses(exchange)) report('no response');
      break;
    }
    // It is sent before the body is read, which the parser may reject. The whole connection is sent again anyway.
    if (isOverload(request, response)) break;
    if (isOver) report('a response after the connection had to end');
    isOver = checkOne(request, response, index === requests.length - 1, report);
  }
  return { faults, responses, overloadCount };
}

/** A request that has waited for its turn for as long as it may. It starts at once unless the machine is busy. */
const waitedTooLong = [
  overloaded.message,
  'the database is busy with a long write',
  'too many large pages or long lists are being read',
  'all database connections are busy',
  'too many concurrent edits of the child chunk',
];

/** Whether this is the response of an overloaded service. To HEAD it has no body. */
function isOverload(request: HostileRequest | undefined, { status, headers, body }: RawResponse): boolean {
  const isMessage =
    request?.method === 'HEAD' ? body.length === 0 : waitedTooLong.some((message) => body.includes(message));
  return status === 503 && /^[1-9]\d*$/.test(headers['retry-after'] ?? '') && isMessage;
}

/** Returns true if no further response may follow on this connection. */
function checkOne(
  request: HostileRequest,
  response: RawResponse,
  isLast: boolean,
  report: (fault: string) => void,
): boolean {
  const { status, headers } = response;
  if (status >= 500 && status !== 501) report('a server error');
  const isHandled = isOwnResponse(request, headers) && !isInvalidHttp(response);
  const fault = isHandled ? request.faultOf?.(response) : undefined;
  if (fault !== undefined) report(fault);
  if (isHandled && request.expectation === 'rejected') report('handled, though it is malformed');
  if (!isHandled && request.expectation === 'handled') report('rejected, or the response to another request');
  if (!isHandled && ![400, 405, 408, 431].includes(status)) report(`rejected with ${status}`);
  const closes = headers.connection === 'close';
  if (!isHandled && !closes) report('rejected, and the connection stays open');
  if (isHandled && closes && request.expectation === 'handled' && !isLast) report('the connection closes without need');
  const text = response.body.toString();
  try {
    const isJson = headers['content-type']?.startsWith('application/json') && text !== '';
    const body = isJson ? JSON.parse(text) : undefined;
    checkResponse(isHandled ? request.method : 'the parser', isHandled ? request.path : '', {
      status,
      headers,
      text,
      body,
    });
  } catch (error) {
    report((error as Error).message.split('\n')[0] ?? '');
  }
  return closes || request.expectation === 'rejected' || request.expectation === 'closes';
}

/**
 * A client that closes its side may lose responses that have not arrived yet. So may a client that keeps sending after
 * a request that ends the connection: data that arrives on a closed connection resets it.
 */
function mayLoseResponses({ requests, end, pace }: Exchange): boolean {
  const isEnded = requests.slice(0, -1).some(({ expectation }) => expectation !== 'handled');
  const isOneRead = pace === 'whole' && requests.reduce((sum, request) => sum + request.bytes.length, 0) < 60_000;
  return end !== 'close' || (isEnded && !isOneRead);
}

/** The response to a body that is not valid, or to CONNECT: the id of the request is known. */
const isInvalidHttp = ({ headers, body }: RawResponse): boolean =>
  headers.connection === 'close' && /the request is not valid HTTP|CONNECT is not supported/.test(body.toString());

/** Whether this is a response to the request, not a rejection by the parser. Without a valid id both get a new one. */
function isOwnResponse({ id }: HostileRequest, headers: Record<string, string>): boolean {
  return id === undefined ? headers.connection !== 'close' : headers['x-request-id'] === id;
}

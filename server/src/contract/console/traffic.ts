import type { Static } from 'typebox';
import { limits } from '../limits.ts';
import { epochSeconds, integer, list, named, nullable, number, text } from '../primitives.ts';
import { Type } from '../type.ts';

const millis = (share: string) =>
  nullable(
    Type.Number({
      description: `Milliseconds within which ${share} of the requests were completed; null without requests.`,
    }),
  );

const Upstream = named('UpstreamStatistics', 'With an upstream: its requests since the start of this instance.', {
  served: integer('Requests to `/v1/…` that Backscroll responded to itself.'),
  passed_on: integer('Requests that were passed on.'),
  in_doubt: integer('Requests that were passed on because data in Backscroll is in doubt.'),
  errors: integer('Requests that were passed on and got no response.'),
  server_errors: integer('Requests that were passed on and got a status of 500 or above.'),
  response_millis: nullable(
    number('double', 'Milliseconds until a response of the upstream begins, on average; null without one.'),
  ),
  last_success_at: nullable(epochSeconds('The last response with a status below 500; null if there was none.')),
  last_error_at: nullable(
    epochSeconds('The last request without a response, or with another status; null if there was none.'),
  ),
  last_error: nullable(text('Its message, for an hour; else null.')),
  doubts: nullable(integer('Objects in doubt; null if not known, or if the upstream does not own the data.')),
  messages_lag_seconds: nullable(integer('How far the follower is behind; null if nothing is followed.')),
  others_lag_seconds: nullable(integer('The same for everything but messages.')),
});
export type UpstreamStatistics = Static<typeof Upstream>;

const errorCounts = {
  client_errors: integer('Requests with a status from 400 to 499.'),
  server_errors: integer('Requests with a status of 500 or above.'),
};

export const Traffic = named('Traffic', 'Requests to this instance in the last hour.', {
  interval_seconds: integer('Length of an interval.'),
  data: list(
    named('TrafficInterval', 'An interval.', {
      at: epochSeconds('Start of the interval.'),
      requests: integer('Number of requests.'),
      ...errorCounts,
      p50: millis('half'),
      p90: millis('90 %'),
      p99: millis('99 %'),
    }),
    'Complete intervals of the last hour, oldest first.',
  ),
  search_lag_seconds: nullable(
    number('double', 'How far the search is behind; null if it is off, being built, or not known.'),
  ),
  upstream: Type.Optional(Upstream),
});
export type Traffic = Static<typeof Traffic>;

const Failure = named('Failure', 'A kind of failure.', {
  status: integer('Status of the responses.'),
  method: text('Method of the requests.'),
  route: text(
    'Route, such as `/v1/messages`; `unmatched` for an unknown path, `rejected` if the service was overloaded.',
  ),
  key_id: nullable(text('ID of the key; null without a valid key.')),
  key_name: nullable(text('Name of the key; null without a valid key.')),
  count: integer('Number of responses since `first_at`.'),
  first_at: epochSeconds('Time of the first one. Since then, no hour passed without one.'),
  last_at: epochSeconds('The last one.'),
  request_id: text('`X-Request-Id` of the last one: the log has a line with it.'),
  code: nullable(text('Error code of the last one; null if its response has none.')),
  message: text(
    'Error message of the last one, without values of the request; with the path if the route does not say it.',
  ),
});

const KeyErrors = named('KeyErrors', 'Failed requests of a key.', {
  key_id: text('ID of the key.'),
  key_name: nullable(text('Name of the key; null if it no longer exists.')),
  ...errorCounts,
  hours: list(
    named('KeyErrorHour', 'Failed requests of an hour.', { at: epochSeconds('Start of the hour.'), ...errorCounts }),
    'The hours with failed requests, oldest first.',
  ),
});

export const Failures = named('Failures', 'Responses with a status of 400 or above.', {
  data: list(
    Failure,
    `The latest ${limits.failuresMax} kinds of failure of this instance in the last hour, latest first.`,
  ),
  by_key: list(
    KeyErrors,
    `Failed requests to all instances in the last ${limits.keyErrorHours} hours by key, most errors first. Those of the console do not count.`,
  ),
});
export type Failures = Static<typeof Failures>;

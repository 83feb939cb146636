import { choice, described, epochSeconds, integer, named, nullable } from '../../contract/primitives.ts';
import { Type } from '../../contract/type.ts';
import { damaged, ServiceError, unavailable } from '../../domain/errors.ts';
import { readState } from '../../domain/health/read-state.ts';
import { nextTurn } from '../../domain/large-text.ts';
import { type GaugeState, gaugeState } from '../observe/database-metrics.ts';
import { responses, textResponse } from '../openapi/openapi.ts';
import type { Dependencies, Routes } from '../route-types.ts';

const Health = named('Health', 'Healthy.', { status: choice(['ok'], 'Always ok.') });
const upstreamStates = ['available', 'unavailable', 'unknown'] as const;
const Ready = named('Ready', 'Ready.', {
  ...Health.properties,
  dify: Type.Optional(
    described('If a Dify installation is followed: how far the follower is behind. For information only.', {
      messages_lag_seconds: integer('All messages that were committed in the source longer ago than this are stored.'),
      others_lag_seconds: integer('Everything else that was committed in the source longer ago than this is stored.'),
    }),
  ),
  erased_copies: Type.Optional(
    described(
      'If something was erased from the embedded database: copies stay in its files while another process reads older ' +
        'data. For information only.',
      {
        waiting_since: nullable(
          epochSeconds('Time of the first erasure whose texts still have copies in the files; null if there is none.'),
        ),
        cleaned_at: nullable(epochSeconds('When the files last had no copies of erased texts any more.')),
      },
    ),
  ),
  backup: Type.Optional(
    described('If there is a store of backups of the embedded database. For information only.', {
      at: nullable(epochSeconds('Time of the last backup: it has all changes from before; null if there is none.')),
      failing_since: nullable(epochSeconds('Time of the first failure after it; null if it was the last attempt.')),
    }),
  ),
  dify_copy: Type.Optional(
    described('While the Dify installation behind this service is copied as a whole. For information only.', {
      done: integer('Rows that were read so far, messages included.'),
      total: Type.Optional(integer('Rows in all; an estimate.')),
    }),
  ),
  upstream: Type.Optional(
    choice(
      upstreamStates,
      'If there is an upstream: how the last request to it ended; `unknown` if that was too long ago. For information only.',
    ),
  ),
});
const stateOf = (isAvailable: boolean | undefined): (typeof upstreamStates)[number] =>
  isAvailable === undefined ? 'unknown' : isAvailable ? 'available' : 'unavailable';
const about = { tags: ['Operations'] };

/**
 * Requests that arrive in the same turn of the event loop, or while a call is under way, get one result: many scrapers at
 * once cost as much as a few.
 */
function shared<R>(run: () => Promise<R>): () => Promise<R> {
  let running: Promise<R> | undefined;
  return () => {
    running ??= nextTurn()
      .then(run)
      .finally(() => {
        running = undefined;
      });
    return running;
  };
}

export const healthRoutes: Routes = (app, dependencies) => {
  const { store, bearer, metrics, metrics_token, inFlight, upstream } = dependencies;
  const get = (operationId: string, url: string, summary: string, schema: object, read: () => Promise<object>) =>
    app.get(url, { schema: { ...about, operationId, summary, response: responses({ 200: schema }) } }, read);

  get('live', '/health/live', 'Is the process running?', Health, async () => ({ status: 'ok' }));

  get('ready', '/health/ready', 'Is the service ready for requests?', Ready, async () => {
    if (metrics.hasFoundDamage) throw damaged();
    await store.ping().catch((error) => {
      if (error instanceof ServiceError) throw error;
      throw Object.assign(unavailable('the database is not available'), { cause: error });
    });
    return {
      status: 'ok',
      ...(await readInformation(dependencies)),
      ...(upstream === undefined ? {} : { upstream: stateOf(upstream.isAvailable) }),
    };
  });

  const readGauges = shared(() => readState(dependencies, gaugeState));
  let state: GaugeState = {};
  const render = shared(() => metrics.text(state));
  app.get(
    '/metrics',
    {
      schema: {
        ...about,
        operationId: 'metrics',
        summary: 'Prometheus metrics',
        description: 'Requires an admin key, or the token in the setting METRICS_TOKEN.',
        security: [{ adminKey: [] }],
        response: responses({ 200: textResponse('text/plain', 'Prometheus text format.') }, [401, 403]),
      },
      onRequest: bearer.requireKey(['admin'], metrics_token),
    },
    async (_request, reply) => {
      // While it waits for the database, it does not take the place of another request.
      inFlight.add(-1);
      state = await readGauges().finally(() => inFlight.add(1));
      return reply.header('content-type', metrics.contentType).send(await render());
    },
  );
};

async function readInformation(dependencies: Dependencies) {
  const { dify, copies, jobs, copy } = await readState(dependencies, ['dify', 'copies', 'jobs', 'copy']);
  const backup = jobs?.find(({ kind }) => kind === 'store');
  return {
    ...(backup && { backup: { at: backup.at, failing_since: backup.failing_since } }),
    ...(dify && { dify }),
    ...(copies && { erased_copies: copies }),
    ...(copy && { dify_copy: { done: copy.done, ...(copy.total && { total: Math.round(copy.total) }) } }),
  };
}

import { choice, shape } from '../../contract/primitives.ts';
import { unavailable } from '../../domain/errors.ts';
import { plainAnswer, responses } from '../openapi/openapi.ts';
import type { Routes } from '../route-types.ts';

const Health = shape({ status: choice(['ok'], 'Always ok.') }, { title: 'Health', description: 'Yes.' });
const about = { tags: ['Operations'] };

export function healthRoutes(metricsToken: string | undefined): Routes {
  return (app, { store, bearer, metrics }) => {
    app.get(
      '/health/live',
      {
        schema: {
          ...about,
          operationId: 'live',
          summary: 'Does the process run?',
          response: responses({ 200: Health }),
        },
      },
      async () => ({ status: 'ok' as const }),
    );

    app.get(
      '/health/ready',
      {
        schema: {
          ...about,
          operationId: 'ready',
          summary: 'Can the service answer?',
          response: responses({ 200: Health }),
        },
      },
      async () => {
        await store.ping().catch((error) => {
          throw Object.assign(unavailable('the database cannot answer'), { cause: error });
        });
        return { status: 'ok' as const };
      },
    );

    app.get(
      '/metrics',
      {
        schema: {
          ...about,
          operationId: 'metrics',
          summary: 'Prometheus metrics',
          description: 'Opened by an admin key, or by the token in the setting METRICS_TOKEN.',
          security: [{ adminKey: [] }],
          response: responses({ 200: plainAnswer('text/plain', 'Prometheus text format.') }, [401]),
        },
        onRequest: bearer.requireKey(['admin'], metricsToken),
      },
      async (_request, reply) => reply.header('content-type', metrics.contentType).send(await metrics.text()),
    );
  };
}

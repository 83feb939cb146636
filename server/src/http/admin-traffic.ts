import { Traffic } from '../contract/admin.ts';
import { aboutAdmin, answers } from './openapi.ts';
import type { Routes } from './routes.ts';

export const adminTrafficRoutes: Routes = (app, { metrics, bearer }) => {
  app.route({
    method: 'GET',
    url: '/admin/traffic',
    schema: {
      ...aboutAdmin,
      operationId: 'getTraffic',
      summary: 'Traffic of the last hour',
      description:
        'Requests to `/v1/…` and `/admin/records` that this instance answered in the last hour, in intervals of ten ' +
        'seconds. Percentiles are right to about a tenth.',
      response: answers({ 200: Traffic }, [401]),
    },
    onRequest: bearer.opensAdmin(),
    handler: async () => metrics.traffic.lastHour(),
  });
};

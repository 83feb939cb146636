import { Traffic } from '../../contract/admin.ts';
import { aboutAdmin, responses } from '../openapi/openapi.ts';
import type { Routes } from '../route-types.ts';

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
      response: responses({ 200: Traffic }, [401]),
    },
    onRequest: bearer.requireAdmin(),
    handler: async () => metrics.traffic.lastHour(),
  });
};

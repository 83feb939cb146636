import { Traffic } from '../../contract/admin.ts';
import type { Routes } from '../route-types.ts';
import { adminGet } from './routes.ts';

export const adminTrafficRoutes: Routes = (app, dependencies) => {
  adminGet(app, dependencies, {
    url: '/admin/traffic',
    operationId: 'getTraffic',
    summary: 'Traffic of the last hour',
    description:
      'Requests to `/v1/…` and `/admin/records` that this instance responded to in the last hour, in intervals of ten ' +
      'seconds. Percentiles are accurate to about a tenth.',
    response: Traffic,
    read: async () => dependencies.metrics.traffic.lastHour(),
  });
};

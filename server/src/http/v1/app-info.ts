import type { TObject } from 'typebox';
import * as app from '../../contract/app.ts';
import { keyGet } from '../operation.ts';
import { together } from '../route-types.ts';

const appGet = (
  operationId: string,
  url: string,
  shown: (details: app.AppDetails) => object,
  described: { summary: string; description: string; response: TObject },
) =>
  keyGet(operationId, ['app'], url, {
    tags: ['Apps'],
    ...described,
    querystring: app.AppQuery,
    read: async ({ caller, store }) => {
      const details = await store.apps.findDetails(caller.app.id);
      if (details === undefined) throw new Error('the app of a key exists');
      return JSON.stringify(shown(details));
    },
  });

/** Information that front ends read about the app of their key, whatever its mode. */
export const appInfoRoutes = together(
  appGet('getAppInfo', '/v1/info', app.infoOf, {
    summary: 'Get App Info',
    description: 'The name and mode of the app.',
    response: app.AppInfo,
  }),
  appGet('getAppParameters', '/v1/parameters', ({ parameters }) => app.parametersOf(parameters), {
    summary: 'Get App Parameters',
    description: "Settings for front ends: the app record's `parameters` over neutral defaults.",
    response: app.AppParameters,
  }),
  appGet('getAppMeta', '/v1/meta', () => ({ tool_icons: {} }), {
    summary: 'Get App Meta',
    description: 'Icons of tools: always none.',
    response: app.AppMeta,
  }),
  appGet('getAppSite', '/v1/site', app.siteOf, {
    summary: 'Get App Site',
    description: "How front ends show the app: the app record's `site` over neutral defaults.",
    response: app.AppSite,
  }),
);

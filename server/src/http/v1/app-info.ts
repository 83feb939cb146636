import type { TObject } from 'typebox';
import type { AppDetails } from '../../contract/app.ts';
import {
  AppInfo,
  AppMeta,
  AppParameters,
  AppQuery,
  AppSite,
  infoOf,
  parametersOf,
  siteOf,
} from '../../contract/app.ts';
import { together } from '../route-types.ts';
import { keyGet } from './key-get.ts';

type Operation = {
  path: string;
  operationId: string;
  summary: string;
  description: string;
  schema: TObject;
  shown: (details: AppDetails) => object;
};

const operations: readonly Operation[] = [
  {
    path: 'info',
    operationId: 'getAppInfo',
    summary: 'Get App Info',
    description: 'The name and mode of the app.',
    schema: AppInfo,
    shown: infoOf,
  },
  {
    path: 'parameters',
    operationId: 'getAppParameters',
    summary: 'Get App Parameters',
    description: "Settings for front ends: the app record's `parameters` over neutral defaults.",
    schema: AppParameters,
    shown: ({ parameters }) => parametersOf(parameters),
  },
  {
    path: 'meta',
    operationId: 'getAppMeta',
    summary: 'Get App Meta',
    description: 'Icons of tools: always none.',
    schema: AppMeta,
    shown: () => ({ tool_icons: {} }),
  },
  {
    path: 'site',
    operationId: 'getAppSite',
    summary: 'Get App Site',
    description: "How front ends show the app: the app record's `site` over neutral defaults.",
    schema: AppSite,
    shown: siteOf,
  },
];

/** Information that front ends read about the app of their key, whatever its mode. */
export const appInfoRoutes = together(
  ...operations.map(({ path, schema, shown, ...about }) =>
    keyGet(['app'], {
      url: `/v1/${path}`,
      tags: ['Apps'],
      ...about,
      querystring: AppQuery,
      response: schema,
      read: async ({ caller, store }) => {
        const details = await store.apps.findDetails(caller.app.id);
        if (details === undefined) throw new Error('the app of a key exists');
        return JSON.stringify(shown(details));
      },
    }),
  ),
);

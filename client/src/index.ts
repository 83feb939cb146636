export * from './client.ts';
export * from './errors.ts';
export type { Items } from './lists.ts';
export type { CallOptions, Fetch } from './options.ts';
export type * from './requests.ts';
export type * from './types.ts';

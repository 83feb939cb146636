export * from './client.ts';
export * from './errors.ts';
export type { Items } from './lists.ts';
export type * from './requests.ts';
export type { CallOptions, Fetch } from './transport.ts';
export type * from './types.ts';

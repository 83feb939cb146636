/** Types of the service's responses, as its OpenAPI document defines them. */
export type * from '../../../client/src/types.ts';
export type * from './console-types.ts';

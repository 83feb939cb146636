import { ServiceError } from '../../domain/errors.ts';
import type { LargeText } from '../../domain/large-text.ts';
import type { JsonBody } from '../../domain/render-list.ts';
import type { ToolResult } from './tool.ts';

/** The page of a list. One that is too large for memory is closed, and not returned. */
export function parseBody(body: JsonBody): ToolResult {
  if (typeof body !== 'string') throw tooLargeForTool(body);
  return JSON.parse(body);
}

/** A result is in memory as a whole, unlike a page of the API. */
export function tooLargeForTool(page: LargeText): ServiceError {
  page.close();
  return new ServiceError('payload_too_large', 'the page is too large: use a smaller limit');
}

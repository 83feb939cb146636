import { type OpenApi, operationsOf } from './document.ts';

const header = (type: 'string' | 'integer', description: string, example: string | number) => ({
  description,
  schema: { type, examples: [example] },
});

const limited = 'If RATE_LIMIT or WRITE_LIMIT applies to the request';
const rateLimitHeaders = {
  'RateLimit-Policy': header(
    'string',
    `${limited}: how many requests (q) are allowed in how many seconds (w).`,
    '"requests";q=100;w=1',
  ),
  RateLimit: header(
    'string',
    `${limited}: how many requests are left (r), and for how many seconds (t).`,
    '"requests";r=42;t=1',
  ),
  'RateLimit-Limit': header('integer', `${limited}: q of the limit with the fewest requests left.`, 100),
  'RateLimit-Remaining': header('integer', `${limited}: r of the limit with the fewest requests left.`, 42),
  'RateLimit-Reset': header('integer', `${limited}: t of the limit with the fewest requests left.`, 1),
};
const retryHeaders = { 'Retry-After': header('integer', 'Seconds to wait before the next request.', 1) };

/** Headers in the responses of many routes, described once. */
export const commonHeaders = { ...rateLimitHeaders, ...retryHeaders };

/** Adds references to these headers to each response. A 401 has no rate limit headers: they require a valid key. */
export function referToHeaders(document: OpenApi): void {
  for (const { security = [], responses } of operationsOf(document)) {
    // An empty requirement means that no key is required.
    const requiresKey = security.length > 0 && security.every((one) => Object.keys(one).length > 0);
    for (const [status, response] of Object.entries(responses)) {
      const names = [
        ...(requiresKey && status !== '401' ? Object.keys(rateLimitHeaders) : []),
        ...(status === '429' || status === '503' ? Object.keys(retryHeaders) : []),
      ];
      if (names.length === 0 || !('description' in response)) continue;
      response.headers = Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
    }
  }
}

const header = (type: 'string' | 'integer', description: string, example: string | number) => ({
  description,
  schema: { type, examples: [example] },
});

const limited = 'Where RATE_LIMIT or WRITE_LIMIT holds for the request';
const ofLimits = {
  'RateLimit-Policy': header('string', `${limited}: how much (q) in how many seconds (w).`, '"requests";q=100;w=1'),
  RateLimit: header('string', `${limited}: how much is left (r), and for how many seconds (t).`, '"requests";r=42;t=1'),
  'RateLimit-Limit': header('integer', `${limited}: q of the limit with least left.`, 100),
  'RateLimit-Remaining': header('integer', `${limited}: r of the limit with least left.`, 42),
  'RateLimit-Reset': header('integer', `${limited}: t of the limit with least left.`, 1),
};
const ofRefusals = { 'Retry-After': header('integer', 'Seconds after which to come back.', 1) };

/** Headers that answers of many routes carry, described once. */
export const commonHeaders = { ...ofLimits, ...ofRefusals };

type Described = {
  paths?: Record<string, Record<string, { security?: object[]; responses: Record<string, { headers?: object }> }>>;
};

/** Says of each answer which of them it carries: what a valid key gets tells of its limits, so a 401 does not. */
export function referToHeaders(document: Described): void {
  const operations = Object.values(document.paths ?? {}).flatMap((methods) => Object.values(methods));
  for (const { security = [], responses } of operations) {
    // An empty requirement says that it can do without.
    const takesKey = security.length > 0 && security.every((one) => Object.keys(one).length > 0);
    for (const [status, response] of Object.entries(responses)) {
      const names = [
        ...(takesKey && status !== '401' ? Object.keys(ofLimits) : []),
        ...(status === '429' || status === '503' ? Object.keys(ofRefusals) : []),
      ];
      if (names.length === 0) continue;
      response.headers = Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
    }
  }
}

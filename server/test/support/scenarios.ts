import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { describeOnOneEngine, type Engine, type RequestOptions, type Service } from './harness.ts';

/** A request that a route refuses, and how. */
export type Refusal = RequestOptions & {
  name: string;
  /** GET by default. */
  method?: string;
  path: string;
  status: number;
  code: string;
  message?: string | RegExp;
};

/**
 * What a route refuses, as a table: one test per row, and one that none of these requests has written anything. With an engine, the
 * rows are checked before any engine is asked, so `npm test` tries them on the first one.
 */
export function describeRefusals(
  start: { service: () => Service; admin: string; engine?: Engine },
  refusals: readonly Refusal[],
): void {
  const describeThem = () => {
    const exportAll = async (): Promise<string> => {
      const { status, text } = await start.service().as(start.admin).get('/admin/records');
      assert.equal(status, 200);
      return text;
    };
    let untouched: string;
    before(async () => {
      untouched = await exportAll();
    });
    for (const { name, method = 'GET', path, status, code, message, ...options } of refusals) {
      it(`${status} ${code}: ${name}`, async () => {
        const { body, text } = await start.service().request(method, path, options);
        assert.deepEqual([body?.status, body?.code], [status, code], text);
        if (message instanceof RegExp) assert.match(body.message, message);
        else if (message !== undefined) assert.equal(body.message, message);
      });
    }
    it('none of these requests has written anything', async () => assert.equal(await exportAll(), untouched));
  };
  if (start.engine === undefined) describe('refused requests', describeThem);
  else describeOnOneEngine(start.engine, 'refused requests', describeThem);
}

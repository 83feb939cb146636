import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, it } from 'node:test';
import { makeTwoTenants, message, onEveryEngine, useService } from '../support/harness.ts';
import { firstOrAll } from '../support/long.ts';
import { openapiFile } from '../support/openapi-check.ts';

type Parameter = { name: string; in: 'query' | 'path' | 'header'; required?: boolean };
type Operation = { parameters?: Parameter[]; security?: Record<string, unknown>[] };
const document: { paths: Record<string, Record<string, Operation>> } = JSON.parse(readFileSync(openapiFile, 'utf8'));

/** As they are sent. The first ones are those that only databases reject. */
const extremes = [
  '99999999999999999999',
  '%00',
  '%ED%A0%80',
  '9223372036854775808',
  '-9223372036854775809',
  `9${'0'.repeat(400)}`,
  '1e999',
  'NaN',
  '-0',
  '0x10',
  '',
  '%25%5F%5C',
  `${encodeURIComponent(`'"\\;--${'`'}`)}`,
  encodeURIComponent('\u202e💩\u0301ﬃ'),
  'x'.repeat(10_000),
  encodeURIComponent('[{"a":1},null]'),
  // For a path, a part of it; in a query, a list.
  'a%26b',
  'WzBd',
];

onEveryEngine('extreme values of the parameters', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const { ids, keys } = one;
  const sent = message(ids.conversation, 1_000);
  const valid: Record<string, string> = {
    ...{ workspace_id: ids.workspace, app_id: ids.app, conversation_id: ids.conversation, message_id: sent.id },
    ...{ dataset_id: ids.dataset, document_id: ids.document, segment_id: ids.segment, child_chunk_id: ids.chunk },
    ...{ model_type: 'llm', user: 'ann', item_id: `msg_${sent.id.replaceAll('-', '')}_0` },
  };
  const service = useService(engine, [...records, sent]);
  before(async () => {
    await service.index();
  });

  it('never get 5xx from any GET of the OpenAPI document', async () => {
    const unread: string[] = [];
    const failed: string[] = [];
    for (const [path, { get }] of Object.entries(document.paths)) {
      if (get === undefined) continue;
      const { parameters = [], security = [] } = get;
      const kind = Object.keys(security[0] ?? {})[0]?.replace('Key', '') as keyof typeof keys | 'admin' | undefined;
      const key = kind === 'admin' || kind === undefined ? admin : keys[kind];
      const request = (tried: Parameter | undefined, value: string) => {
        const of = (name: string) => (name === tried?.name ? value : (valid[name] ?? 'x'));
        const required = parameters.filter((one) => one.in === 'query' && one.required && one.name !== tried?.name);
        const query = required.map(({ name }) => `${name}=${of(name)}`);
        if (tried?.in === 'query') query.push(`${tried.name}=${value}`);
        const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => of(name));
        const headers =
          tried?.in === 'header'
            ? { [tried.name]: decodeURIComponent(value.replace('%ED%A0%80', '')).replaceAll(/[^ -~]/g, '?') }
            : {};
        return service.as(key).get(`${filled}?${query.join('&')}`, headers);
      };
      if ((await request(undefined, '')).status !== 200) unread.push(path);
      for (const parameter of parameters) {
        const repeated =
          parameter.in === 'query' ? [`x&${parameter.name}=`, `x&${parameter.name}[]=y&${parameter.name}[a]=z`] : [];
        const responses = await Promise.all(
          firstOrAll([...extremes, ...repeated], 3).map(async (value) => ({
            value,
            ...(await request(parameter, value)),
          })),
        );
        for (const { value, status, text } of responses) {
          if (status >= 500) failed.push(`${path} ${parameter.name}=${value.slice(0, 50)}: ${text}`);
        }
      }
    }
    assert.deepEqual(failed, []);
    assert.deepEqual(unread, ['/v1/messages/{message_id}/suggested', '/console/session']);
  });
});

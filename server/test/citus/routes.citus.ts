import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { markedIn } from '../plans/shard-marks.ts';
import { repository } from '../support/cli-helpers.ts';
import { exampleRecords, sendExamples } from '../support/openapi/record-examples.ts';
import { onNode } from './cluster.ts';
import { startTracedService, type TracedService } from './trace.ts';

type TracedStatement = ReturnType<TracedService['statements']>[number];

/** While a node hangs, a statement that marks its distribution value fails or runs by the nodes of this value. */
describe('the distribution values that statements mark', () => {
  let traced: TracedService;
  let marked: TracedStatement[];
  /** A list of ids is sent as `{"…","…"}`. */
  const values = ({ text, values }: TracedStatement): string[] =>
    values[Number(markedIn(text)) - 1]?.replaceAll(/[{}"]/g, '').split(',') ?? [];

  before(async () => {
    traced = await startTracedService();
    const { service } = traced;
    const { records, secrets } = exampleRecords();
    await service.load(records);
    await service.index();
    const document = JSON.parse(readFileSync(join(repository, 'openapi.json'), 'utf8'));
    await sendExamples({ base: service.base, advanceClock: () => undefined }, secrets, document);
    marked = traced.statements().filter(({ text }) => markedIn(text) !== undefined);
  });
  after(() => traced?.close());

  it('name the nodes that Citus asks', async () => {
    const nodesOf = await onNode(traced.service.config.database_url, async (client) => {
      const { rows } = await client.query(
        `SELECT value, n.nodename || ':' || n.nodeport AS node FROM unnest($1::text[]) AS value
         JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('conversations', value)
         JOIN pg_dist_node n ON n.groupid = p.groupid`,
        [[...new Set(marked.flatMap(values))]],
      );
      return new Map<string, string>(rows.map(({ value, node }) => [value, node]));
    });
    assert.equal(new Set(nodesOf.values()).size, 2);
    const wrong = marked.filter((statement) => {
      const named = new Set(values(statement).map((value) => nodesOf.get(value)));
      return [...statement.nodes].some((node) => !named.has(node));
    });
    assert.deepEqual(
      wrong.map(({ text, nodes }) => `${[...nodes].join()}: ${text}`),
      [],
    );
    const asked = marked.filter(({ nodes }) => nodes.size === 1);
    assert.ok(new Set(asked.map(({ text }) => text)).size > 80, `${asked.length}`);
  });
});

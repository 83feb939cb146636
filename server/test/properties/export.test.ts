import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { it } from 'node:test';
import fc from 'fast-check';
import { makeSecret } from '../../src/domain/secret.ts';
import { onEveryEngine, startService, useService } from '../support/harness.ts';
import { shortOrLong } from '../support/long.ts';

/** Compares filtered exports with an in-memory filter of a full one. */

// biome-ignore lint/suspicious/noExplicitAny: lines of an export
type Line = any;

function idOf(...parts: (string | number)[]): string {
  const hex = createHash('sha256').update(parts.join(' ')).digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
}

const apps = [idOf('app', 1), idOf('app', 2), idOf('app', 3)];
const user = fc.constantFrom('ann', 'bob', 'ANN', 'u'.repeat(300), `${'u'.repeat(300)}2`, null);
const time = fc.integer({ min: 0, max: 40 });
const text = fc.oneof(
  fc.constantFrom('=1+1', '-', '@x', '+', '\t', '\r', 'a,b', '"', 'line\r\nline', '', "'", 'naïve 🐈'),
  fc.string({ unit: 'grapheme', maxLength: 20 }).map((one) => one.toWellFormed().replaceAll('\0', '')),
);
const conversation = fc.record({
  app: fc.nat(1),
  user,
  deleted: fc.boolean(),
  created_at: time,
  messages: fc.array(
    fc.record({
      created_at: time,
      query: text,
      answer: text,
      feedback: fc.constantFrom(null, { rating: 'like' }),
      feedback_content: fc.option(text),
      model: fc.option(fc.constantFrom('lantern', '=model')),
      total_price: fc.constantFrom(null, '-0.5', '1'),
    }),
    { maxLength: 30 },
  ),
});
/** The last app has no conversations. */
const selection = fc.record({
  app: fc.option(fc.nat(2)),
  user: fc.option(user),
  conversation: fc.option(fc.nat(5), { freq: 6 }),
  from: fc.option(time),
  to: fc.option(time),
});

/** Reads RFC 4180, as strictly as it is written. */
function parseCsv(csv: string): string[][] {
  const rows: string[][] = [[]];
  const cell = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n)/y;
  while (cell.lastIndex < csv.length) {
    const at = cell.lastIndex;
    const [, content = '', end] = cell.exec(csv) ?? assert.fail(`no cell at ${JSON.stringify(csv.slice(at, at + 50))}`);
    rows.at(-1)?.push(content.startsWith('"') ? content.slice(1, -1).replaceAll('""', '"') : content);
    if (end === '\r\n') rows.push([]);
  }
  assert.deepEqual(rows.pop(), []);
  return rows;
}

const cellOf = (value: string | number | null): string => {
  const content = value === null ? '' : `${value}`;
  if (/^-?\d+(\.\d+)?$/.test(content)) return content;
  const guarded = /^[\t\r\n]/.test(content) ? `'${content}` : content;
  return guarded.replace(/^(?=[=+\-@＝＋－＠])/, "'").replace(/;[\s"']*(?=[=+\-@＝＋－＠])/g, (before) => `${before}'`);
};
const isoTime = (seconds: number) => new Date(seconds * 1000).toISOString().replace('.000', '');

onEveryEngine('filtered exports', (engine) => {
  const admin = makeSecret('admin');
  const configuration = [
    { record: 'workspace', id: idOf('workspace'), name: 'w' },
    ...apps.map((id) => ({ record: 'app', id, workspace_id: idOf('workspace'), name: 'app', mode: 'chat' })),
  ];
  const service = useService(engine, [
    ...configuration,
    { record: 'api_key', kind: 'admin', name: 'admin', secret: admin },
  ]);

  const get = async (path: string, from = service) => {
    const { status, text } = await from.as(admin).get(path);
    assert.equal(status, 200, text);
    return text;
  };
  const linesOf = (text: string): Line[] => text.split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line)));

  it('have exactly the selected messages, and import into an empty database', async () => {
    let runs = 0;
    const property = fc.asyncProperty(
      fc.array(conversation, { minLength: 1, maxLength: 6 }),
      selection,
      async (conversations, { app, conversation: chosen, ...filter }) => {
        runs += 1;
        const idAt = (at: number) => idOf('conversation', runs, at);
        const app_id = app === null ? undefined : apps[app];
        const conversation_id = chosen === null || chosen >= conversations.length ? undefined : idAt(chosen);
        await service.load(
          conversations.flatMap(({ app: at, messages, ...fields }, index) => [
            { record: 'conversation', id: idAt(index), app_id: apps[at], ...fields },
            ...messages.map((message, slot) => ({
              ...{ record: 'message', id: idOf(runs, index, slot), conversation_id: idAt(index), ...message },
            })),
          ]),
        );
        const all = linesOf(await get('/admin/records'));
        const query = new URLSearchParams();
        for (const [name, value] of Object.entries({ app_id, conversation_id, ...filter }))
          if (value !== undefined && value !== null) query.set(name, `${value}`);

        const owners = new Map(all.filter(({ record }) => record === 'conversation').map((one) => [one.id, one]));
        const isSelected = (one: Line) =>
          (app_id === undefined || one.app_id === app_id) &&
          (filter.user === null || one.user === filter.user) &&
          (conversation_id === undefined || one.id === conversation_id);
        const isInPeriod = ({ created_at }: Line) =>
          created_at >= (filter.from ?? Number.NEGATIVE_INFINITY) &&
          created_at < (filter.to ?? Number.POSITIVE_INFINITY);
        const messages = all.filter(
          (one) => one.record === 'message' && isSelected(owners.get(one.conversation_id)) && isInPeriod(one),
        );
        const withMessages = new Set(messages.map((one) => one.conversation_id));
        const hasPeriod = filter.from !== null || filter.to !== null;
        const parents = [...owners.values()].filter(
          (one) => isSelected(one) && (!hasPeriod || withMessages.has(one.id)),
        );
        const appIds = new Set(parents.map((one) => one.app_id));
        const isAbove = ({ record, id }: Line) => (record === 'app' ? appIds.has(id) : appIds.size > 0);
        const above = all.filter((one) => ['workspace', 'app'].includes(one.record) && isAbove(one));
        const isFiltered = query.size > 0;

        const path = `?${query}`;
        if (conversation_id !== undefined && !isSelected({ ...owners.get(conversation_id), user: filter.user })) {
          assert.equal((await service.as(admin).get(`/admin/records${path}`)).status, 404);
          return;
        }
        const selected = linesOf(await get(`/admin/records${path}`));
        const key = (one: Line) => `${one.record} ${one.conversation_id} ${one.id}`;
        const sorted = (lines: Line[]) => lines.toSorted((one, other) => (key(one) < key(other) ? -1 : 1));
        const expected = isFiltered ? [...above, ...parents, ...messages] : all;
        assert.deepEqual(sorted(selected), sorted(expected), `${query}`);
        const kinds = linesOf(await get(`/admin/records${path}&kinds=message,app`));
        assert.deepEqual(
          sorted(kinds),
          sorted(expected.filter(({ record }) => ['message', 'app'].includes(record))),
          'kinds',
        );

        const [header, ...rows] = parseCsv(await get(`/admin/messages.csv${path}`));
        assert.equal(header?.length, 17);
        const expectedRows = messages.map((one) => [
          ...[one.conversation_id, one.id, isoTime(one.created_at), owners.get(one.conversation_id).user],
          ...[one.query, one.answer, 'normal', null, one.feedback?.rating ?? null, one.feedback_content, 0, 0],
          ...[one.total_price, null, 0, null, one.model],
        ]);
        assert.deepEqual(rows.sort(), expectedRows.map((cells) => cells.map(cellOf)).sort());

        const target = await startService(engine);
        try {
          await target.load(isFiltered ? selected : selected.filter(({ record }) => record !== 'api_key'));
          await target.load([{ record: 'api_key', kind: 'admin', name: 'admin', secret: admin }]);
          const copied = linesOf(await get('/admin/records', target)).filter(({ record }) => record !== 'api_key');
          assert.deepEqual(sorted(copied), sorted(expected.filter(({ record }) => record !== 'api_key')));
          // The order in each conversation is that of the source.
          const order = (lines: Line[]) =>
            Map.groupBy(
              lines.filter(({ record }) => record === 'message'),
              (one) => one.conversation_id,
            );
          const ordered = order(copied);
          for (const [id, own] of order(messages)) assert.deepEqual(ordered.get(id), own);
        } finally {
          await target.close();
        }
      },
    );
    await fc.assert(property, { numRuns: shortOrLong(4, 80) });
  });
});

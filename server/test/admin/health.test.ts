import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTick } from 'node:timers/promises';
import { verdictsOf } from '../../src/domain/health/verdicts.ts';
import { type Engine, makeTwoTenants, onEveryEngine, type Service, startService } from '../support/harness.ts';

type Verdict = { name: string; state: string; text: string; link: string | null };
const day = 86_400;

async function start(t: TestContext, engine: Engine, settings: Record<string, string> = {}) {
  const { one, admin, records } = makeTwoTenants();
  const service = await startService(engine, settings);
  t.after(() => service.close());
  await service.load(records);
  await service.index();
  service.freezeClock();
  const read = async (from: Service = service) => {
    const { status, body, text } = await from.as(admin).get('/admin/health');
    assert.equal(status, 200, text);
    return body;
  };
  const verdict = async (name: string): Promise<Verdict> =>
    (await read()).verdicts.find((one: Verdict) => one.name === name);
  return { service, one, admin, read, verdict };
}

onEveryEngine('health in words', (engine) => {
  it('200: a verdict for each part that is used, version, start, size and instances', async (t) => {
    const { read } = await start(t, engine);
    const before = Math.floor(Date.now() / 1000);
    const { state, verdicts, version, started_at, instances, database_bytes } = await read();
    const byName = Object.fromEntries(verdicts.map(({ name, text }: Verdict) => [name, text]));
    const { requests, search, backup, database, service: process, ...others } = byName;
    assert.deepEqual(others, {}, 'no upstream, no Dify, no retention');
    assert.deepEqual([requests, search], ['No failed request in the last hour', 'Search 0 behind']);
    assert.match(process, new RegExp(`^Version ${version}, up \\d+ (s|min)$`));
    assert.match(database, /^Database \d+\.\d MB$/);
    assert.ok(database_bytes > 100_000 && started_at <= before && started_at > before - 3_600);
    assert.equal(instances, 1);
    // Backups of PostgreSQL are made by its own tools.
    assert.deepEqual([backup, state], engine === 'sqlite' ? ['No backup yet', 'warn'] : [undefined, 'ok']);
  });

  it('200: backups and the retention say how old they are and why they fail, failures first', async (t) => {
    const { service, verdict, read } = await start(t, engine);
    const now = Math.floor(Date.now() / 1000);
    await service.store.run('noteJob', { kind: 'store', at: now - 9 * 3_600 - 60 });
    await service.store.run('noteJob', { kind: 'retention', at: now - 130 });
    assert.deepEqual([(await verdict('backup')).text, (await verdict('backup')).state], ['Backup 9 h old', 'ok']);
    assert.deepEqual([(await verdict('retention')).text, (await read()).state], ['Retention ran 2 min ago', 'ok']);
    await service.store.run('noteJob', { kind: 'retention', at: now, failure: 'disk full' });
    const { verdicts, state } = await read();
    assert.equal(state, 'fail');
    assert.deepEqual(verdicts[0], {
      ...{ name: 'retention', state: 'fail', text: 'Retention fails: disk full; it ran 2 min ago' },
      link: '/docs#guide/retention-and-erasure',
    });
    service.advanceClock(2 * day);
    assert.deepEqual(await verdict('backup'), {
      ...{ name: 'backup', state: 'warn', text: 'Backup 2 days old', link: '/docs#guide/backup' },
    });
    await service.store.run('noteJob', { kind: 'store', at: now + 1, failure: 'no such bucket' });
    assert.equal((await verdict('backup')).text, 'Backup 2 days old; backups fail: no such bucket');
  });

  it('200: the retention says when it ran, also in the metrics of backups it is none', async (t) => {
    const { service, admin, verdict, one } = await start(t, engine);
    const { retain } = await import('../../src/domain/erasure/retention.ts');
    const now = Math.floor(Date.now() / 1000);
    await retain(service.store, { now }, () => undefined);
    assert.equal(await verdict('retention'), undefined, 'no app has a period');
    const app = { record: 'app', id: one.ids.app, workspace_id: one.ids.workspace, name: 'app', mode: 'chat' };
    await service.load([{ ...app, retention_days: 30 }]);
    await retain(service.store, { now, isDry: true }, () => undefined);
    assert.equal(await verdict('retention'), undefined, 'a dry run erases nothing');
    await retain(service.store, { now: now - 40 }, () => undefined);
    assert.match((await verdict('retention')).text, /^Retention ran \d+ s ago$/);
    const { text } = await service.as(admin).get('/metrics');
    assert.doesNotMatch(text, /backup_age_seconds\{/);
  });

  it('200: an upstream that does not respond, and the last error with its text', async (t) => {
    const { service, one, verdict, read } = await start(t, engine, { UPSTREAM_URL: 'http://127.0.0.1:9/v1' });
    assert.equal((await verdict('upstream')).text, 'Upstream was not asked yet');
    assert.equal((await service.as(one.keys.app).get('/v1/unknown')).status, 502);
    while (!service.logs.some((line) => line.includes('"status":502'))) await nextTick();
    service.advanceClock(240);
    const [worst] = (await read()).verdicts;
    assert.deepEqual([worst.name, worst.state], ['upstream', 'fail']);
    assert.match(worst.text, /^Upstream does not respond, last 4 min ago: .*upstream is not available/);
    const requests = await verdict('requests');
    assert.match(requests.text, /^Last error 4 min ago: .* \(1 of 1 requests failed in the last hour\)$/);
    assert.deepEqual([requests.state, requests.link], ['warn', '/console#/overview/health']);
    service.advanceClock(3_600);
    assert.equal((await verdict('requests')).text, 'No failed request in the last hour');
  });

  it('200: instances of one database are counted', async (t) => {
    const { service, read } = await start(t, engine);
    assert.equal((await read()).instances, 1);
    if (engine === 'sqlite') return;
    const { default: pg } = await import('pg');
    const other = new pg.Client({ connectionString: service.config.database_url, application_name: 'backscroll 1 b' });
    await other.connect();
    const { instances, verdicts } = await read().finally(() => other.end());
    assert.equal(instances, 2);
    assert.match(verdicts.find(({ name }: Verdict) => name === 'database').text, / MB, 2 instances$/);
  });
});

describe('verdicts', () => {
  const facts: Parameters<typeof verdictsOf>[0] = {
    now: 10_000,
    ...{ version: '1.0.0', upSeconds: 3 * day, lastHour: { requests: 0, failed: 0, last: undefined } },
    ...{ upstream: undefined, dify: undefined, copy: undefined, search: undefined, jobs: [], copies: undefined },
    ...{ isDamaged: false, size: { bytes: 1_234_000_000, instances: 3, isEmbedded: false }, backup_every: day },
  };
  const found = (change: Partial<typeof facts>, name: string) => {
    const one = verdictsOf({ ...facts, ...change }).find((verdict) => verdict.name === name);
    return one && `${one.state}: ${one.text}`;
  };

  it('of backups depends on the time between two of them', () => {
    const job = { kind: 'store', failing_since: null, failure: null, bytes: null, millis: null } as const;
    const now = 10 * day;
    const aged = (hours: number, backup_every: number) =>
      found({ now, jobs: [{ ...job, at: now - hours * 3_600 }], backup_every }, 'backup');
    assert.deepEqual(
      [aged(2, 900), aged(1, 900), aged(33, day), aged(50, day), aged(50, 7 * day)],
      [
        'warn: Backup 2 h old',
        'ok: Backup 1 h old',
        'ok: Backup 33 h old',
        'warn: Backup 2 days old',
        'ok: Backup 2 days old',
      ],
    );
  });

  it('depend on how much fails, how far copies are behind, and whether the database responds', () => {
    const last = { at: 9_700, message: 'x' };
    const lag = (seconds: number) => ({ messages_lag_seconds: 2, others_lag_seconds: seconds });
    const index = { isBuilding: false, changes: 4, oldest: 9_000 };
    const hour = (failed: number, requests: number) => found({ lastHour: { requests, failed, last } }, 'requests');
    assert.deepEqual(
      [
        hour(0, 0),
        hour(5, 1_000),
        hour(3, 3),
        hour(30, 100),
        found({ dify: lag(2) }, 'dify'),
        found({ dify: lag(61) }, 'dify'),
        found({ dify: lag(601) }, 'dify'),
        found({ copy: { done: 12, total: 100 } }, 'dify'),
        found({ search: index }, 'search'),
        found({ search: { ...index, oldest: 9_999 } }, 'search'),
        found({ search: { ...index, changes: 1, oldest: 9_999 } }, 'search'),
        found({ search: 'the search is off' }, 'search'),
        found({ search: { ...index, isBuilding: true } }, 'search'),
        found({ copies: { waiting_since: 9_000, cleaned_at: null } }, 'erased_copies'),
        found({ size: undefined }, 'database'),
        found({ isDamaged: true }, 'database'),
        found({}, 'database'),
        found({}, 'service'),
      ],
      [
        'ok: Last error 5 min ago: x',
        'ok: Last error 5 min ago: x (5 of 1000 requests failed in the last hour)',
        'warn: Last error 5 min ago: x (3 of 3 requests failed in the last hour)',
        'fail: Last error 5 min ago: x (30 of 100 requests failed in the last hour)',
        'ok: Dify copy 2 s behind',
        'warn: Dify copy 1 min behind',
        'fail: Dify copy 10 min behind',
        'warn: Dify is being copied, 12 % done',
        'fail: Search 4 changes, 16 min behind',
        'ok: Search 4 changes, 1 s behind',
        'ok: Search 1 change, 1 s behind',
        'ok: Search is off',
        'warn: Search index is being built',
        'warn: Erased texts are left in the files for 16 min',
        'fail: Database does not respond',
        'fail: Damaged pages were found in the database',
        'ok: Database 1.2 GB, 3 instances',
        'ok: Version 1.0.0, up 3 days',
      ],
    );
  });
});

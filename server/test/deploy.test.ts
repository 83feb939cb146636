import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { settings } from '../src/config.ts';
import { limits } from '../src/contract/limits.ts';
import { repository } from './support/cli-helpers.ts';
import { makeTwoTenants, type Service, startService } from './support/harness.ts';
import { until } from './support/until.ts';

/** Files for other programs: what they name of this one must exist. */

const read = (path: string): string => readFileSync(join(repository, path), 'utf8');
const listed = (pattern: RegExp, text: string): string[] => [
  ...new Set([...text.matchAll(pattern)].map((m) => m[1] ?? '')),
];

const dashboard = 'deploy/monitoring/dashboard.json';
const alerts = 'deploy/monitoring/alerts.yaml';

/** The expressions of the dashboard, and of the alerts. */
const expressions = (): string[] => {
  const panels: { targets?: { expr: string }[] }[] = JSON.parse(read(dashboard)).panels;
  const rules = read(alerts).matchAll(/^ +expr: (?:\|\n((?: {10,}.*\n)+)|(.+)\n)/gm);
  return [
    ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    ...[...rules].map(([, block, line]) => block ?? line ?? ''),
  ];
};

describe('the dashboard and the alerts', () => {
  let service: Service;
  let metrics: string;
  before(async () => {
    // Nothing listens there: a request gets 502, and is counted.
    service = await startService('sqlite', { UPSTREAM_URL: 'http://127.0.0.1:9/v1' });
    const { one, admin, records } = makeTwoTenants();
    await service.load(records);
    assert.equal((await service.as(one.keys.app).get('/v1/unknown')).status, 502);
    await until(() => service.logs.some((line) => line.includes('"status":502')));
    await service.saveUses();
    await service.store.run('noteJob', { kind: 'store', at: 1, bytes: 1, millis: 1 });
    metrics = (await service.as(admin).get('/metrics')).text;
  });
  after(() => service.close());

  it('have expressions, and all of them are checked', () => {
    assert.equal(
      expressions().length,
      [...read(dashboard).matchAll(/"expr"/g), ...read(alerts).matchAll(/expr:/g)].length,
    );
    assert.ok(expressions().length > 30);
  });

  it('name only metrics that the service has', () => {
    const types = new Map(
      [...metrics.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type = '']) => [name, type]),
    );
    const exists = (name: string) =>
      types.get(name.replace(/_(?:bucket|sum|count)$/, '')) === 'histogram' ||
      ['counter', 'gauge'].includes(types.get(name) ?? '');
    const names = listed(/\b((?:backscroll|process|nodejs)_\w+)/g, `${expressions().join('\n')}\n${read(dashboard)}`);
    assert.ok(names.length > 20);
    assert.deepEqual(
      names.filter((name) => !exists(name)),
      [],
    );
    assert.ok(!exists('backscroll_http_requests'));
  });

  it('name only labels that the metrics have', () => {
    // No Dify installation is followed here, and the database is available.
    const others = ['instance', 'job', 'le', 'of', 'cause'];
    const known = new Set([...listed(/[{,](\w+)="/g, metrics), ...others]);
    const grouped = expressions().flatMap((expression) => listed(/\bby \(([^)]+)\)/g, expression));
    const labels = [
      ...grouped.flatMap((list) => list.split(', ')),
      ...expressions().flatMap((expression) => listed(/[{,] *(\w+)(?:=|!=|=~|!~)"/g, expression)),
    ];
    assert.ok(labels.includes('outcome') && labels.includes('limit') && labels.includes('worker'));
    assert.deepEqual(
      labels.filter((label) => !known.has(label)),
      [],
    );
  });

  it('have balanced parentheses and quotes', () => {
    for (const expression of expressions()) {
      const outside = expression.replaceAll(/"[^"]*"/g, '');
      assert.ok(!outside.includes('"'), expression);
      for (const [open, close] of ['()', '{}', '[]'])
        assert.equal(outside.split(open ?? '').length, outside.split(close ?? '').length, expression);
    }
  });

  it('have a service that responds at the paths of the probes without a key', async () => {
    const files = ['deploy/kubernetes/postgres.yaml', 'deploy/kubernetes/embedded.yaml'];
    for (const file of files) {
      const paths = listed(/^ +path: (\S+)$/gm, read(file));
      assert.deepEqual(paths, ['/health/live', '/health/ready'], file);
      for (const path of paths) assert.equal((await service.request('GET', path)).status, 200);
    }
  });
});

describe('the files for deployment', () => {
  const yamlFiles = globSync(['compose.yaml', '{deploy,.github}/**/*.{yaml,yml}'], { cwd: repository });

  it('are YAML of a simple form', () => {
    assert.ok(yamlFiles.length > 12);
    const wrong = yamlFiles.flatMap((file) => wrongLines(read(file)).map((line) => `${file}: ${line}`));
    assert.deepEqual(wrong, []);
    for (const line of ['\ta: b', ' a: b', 'a:b', 'a: b\n    c: d', "a: 'b", 'a: {{ b }}', 'a: b: c'])
      assert.notDeepEqual(wrongLines(line), [], line);
  });

  it('name only settings that exist', () => {
    const files = globSync('deploy/kubernetes/*.yaml', { cwd: repository });
    const names = files.flatMap((file) => listed(/^ {2,}(?:- name: )?([A-Z]+(?:_[A-Z]+)*)(?::|$)/gm, read(file)));
    assert.deepEqual([...new Set(names)].sort(), ['DATABASE_URL', 'LOG_LEVEL', 'METRICS_TOKEN', 'WORKERS']);
    assert.deepEqual(
      names.filter((name) => !(name.toLowerCase() in settings)),
      [],
    );
  });

  it('wait longer than the service does, and close idle connections before it', () => {
    const seconds = (file: string, pattern: RegExp) => {
      const [, text = assert.fail(`${pattern} in ${file}`)] = pattern.exec(read(file)) ?? [];
      return Number(text) * 1000;
    };
    const nginx = 'deploy/proxy/nginx.conf';
    const caddy = 'deploy/proxy/Caddyfile';
    assert.ok(seconds(nginx, /proxy_read_timeout (\d+)s/) > limits.upstreamResponseMillisMax);
    assert.ok(seconds(caddy, /response_header_timeout (\d+)s/) > limits.upstreamResponseMillisMax);
    assert.ok(seconds(nginx, /keepalive_timeout (\d+)s/) < limits.keepAliveMillis);
    assert.ok(seconds(caddy, /keepalive (\d+)s/) < limits.keepAliveMillis);
    assert.ok(limits.changesWaitSecondsMax * 1000 < limits.upstreamResponseMillisMax);
    assert.ok(seconds('deploy/systemd/backscroll.service', /TimeoutStopSec=(\d+)/) > limits.shutdownMillisMax);
    for (const name of ['postgres', 'embedded']) {
      const file = `deploy/kubernetes/${name}.yaml`;
      const pause = seconds(file, /\["sleep", "(\d+)"\]/);
      assert.ok(seconds(file, /terminationGracePeriodSeconds: (\d+)/) > pause + limits.shutdownMillisMax, file);
    }
  });
});

/**
 * Lines that are not of the form that these files have: keys and items, indented by two spaces below their parent, texts with
 * special characters in quotes, and blocks after `|`. There is no YAML parser among the dependencies.
 */
function wrongLines(text: string): string[] {
  const wrong: string[] = [];
  let block: number | undefined;
  let allowed = 0;
  for (const line of text.split('\n')) {
    const indent = line.search(/\S/);
    if (indent === -1 || line === '---') continue;
    if (block !== undefined && indent > block) continue;
    block = undefined;
    if (line.trimStart().startsWith('#')) continue;
    const [, dashes = '', key, value = ''] = /^ *((?:- )*)(?:([\w./-]+):(?= |$))? ?(.*?)(?: +#.*)?$/.exec(line) ?? [];
    const isPlain = /^(?:[^'"[{|&*!%@`#>:\s-](?:[^:#]|:(?=\S)|(?<=\S)#)*|-?\d[\d.]*)$/.test(value);
    const isQuoted = /^(?:'(?:[^']|'')*'|"(?:[^"\\]|\\.)*")$/.test(value);
    const isList = /^\[[^[\]]*\]$/.test(value);
    const isValid =
      !/\t|\s$/.test(line) &&
      indent % 2 === 0 &&
      indent <= allowed &&
      (key !== undefined || dashes !== '') &&
      (isPlain || isQuoted || isList || value === '|' || (value === '' && key !== undefined));
    if (!isValid) wrong.push(line);
    const inner = indent + dashes.length;
    if (value === '|') block = inner;
    // A list may be as far indented as its key.
    allowed = key !== undefined && value === '' ? inner + 2 : inner;
  }
  return wrong;
}

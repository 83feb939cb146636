import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { settingsFiles } from '../../scripts/settings.ts';
import { readConfig, settings, settingsHelp } from '../../src/config.ts';

describe('every setting', () => {
  it('includes those of the contract, with their defaults', () => {
    const { host, port, database_url, page_order, log_level, rate_limit, metrics_token } = readConfig({});
    assert.deepEqual(
      { host, port, database_url, page_order, log_level, rate_limit, metrics_token },
      {
        host: '127.0.0.1',
        port: 5001,
        database_url: 'sqlite:data/backscroll.db',
        page_order: 'newest_first',
        log_level: 'info',
        rate_limit: 0,
        metrics_token: undefined,
      },
    );
  });

  it('is in --help with its default', () => {
    const lines = settingsHelp().split('\n');
    for (const [key, { fallback }] of Object.entries(settings)) {
      const line = lines.find((one) => one.startsWith(`  ${key.toUpperCase()} `));
      assert.ok(line?.endsWith(`(default: ${fallback ?? 'none'})`), key);
    }
  });

  it('is in README.md and .env.example as npm run settings writes them', () => {
    for (const { path, text } of settingsFiles()) assert.equal(readFileSync(path, 'utf8'), text, `${path}`);
  });

  it('has a default that is allowed', () => {
    const environment = Object.fromEntries(
      Object.entries(settings).map(([key, { fallback }]) => [key.toUpperCase(), fallback]),
    );
    assert.deepEqual(readConfig(environment), readConfig({}));
  });
});

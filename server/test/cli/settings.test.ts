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

  it('is in docs/run/settings.md and .env.example as npm run settings writes them', () => {
    for (const { path, text } of settingsFiles()) assert.equal(readFileSync(path, 'utf8'), text, `${path}`);
  });

  it('has a default that is allowed', () => {
    const environment = Object.fromEntries(
      Object.entries(settings).map(([key, { fallback }]) => [key.toUpperCase(), fallback]),
    );
    assert.deepEqual(readConfig(environment), readConfig({}));
  });
});

it('an empty value is that of no setting', () => {
  const empty = Object.fromEntries(Object.keys(settings).map((key) => [key.toUpperCase(), '']));
  assert.deepEqual(readConfig(empty), readConfig({}));
});

describe('DATABASE_URL', () => {
  const problemOf = (url: string, setting = 'DATABASE_URL'): string => {
    try {
      readConfig({ [setting]: url });
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };

  it('accepts several servers and the options of libpq', () => {
    for (const url of [
      'postgres://h1:5432,h2:5433/db?target_session_attrs=read-write',
      'postgresql://ann:p%40ss@h1,h2,[::1]:6000/db',
      'postgres://ann:s3cret@w0rd@h1:5432/db',
      'postgres:///db?host=/var/run/postgresql&user=ann',
      'postgres://h/?dbname=db',
      'postgres://h/db?sslmode=verify-full&sslrootcert=/ca.pem&channel_binding=require&application_name=a',
      'postgres://h/db?options=-c%20work_mem%3D5MB&connect_timeout=3&keepalives=1&keepalives_idle=30&gssencmode=disable',
    ])
      assert.equal(problemOf(url), '', url);
  });

  it('rejects an unknown option by its name, without the password', () => {
    const start = 'DATABASE_URL=postgres://h1,h2/db: ';
    const cases = {
      'target_session_attr=read-write': 'the option target_session_attr is not supported',
      'sslmod=disable&sslmode=disable': 'the option sslmod is not supported',
      'passfile=/x': 'the option passfile is not supported',
      'toString=1': 'the option toString is not supported',
      'target_session_attrs=primary&target_session_attrs=any':
        'the option target_session_attrs is given more than once',
      'target_session_attrs=prefer-standby':
        'the option target_session_attrs must be one of any, read-write, read-only, primary, standby',
      'sslmode=on':
        'the option sslmode must be one of disable, allow, prefer, require, verify-ca, verify-full, no-verify',
      'connect_timeout=soon': 'the value of the option connect_timeout is not allowed',
      'password=s3cretw0rd&port=x': 'the value of the option port is not allowed',
    };
    for (const [options, problem] of Object.entries(cases))
      assert.equal(problemOf(`postgres://ann:s3cretw0rd@h1,h2/db?${options}`), `${start}${problem}`);
  });

  it('rejects what is no address of the database of a Dify installation, without the password', () => {
    const expected = 'must be postgres://USER:PASSWORD@HOST:PORT/DATABASE';
    assert.equal(problemOf('x', 'DIFY_DATABASE_URL'), `DIFY_DATABASE_URL=x: ${expected}`);
    assert.equal(
      problemOf('mysql://ann:s3cret@h/dify', 'DIFY_DATABASE_URL'),
      `DIFY_DATABASE_URL=mysql://h/dify: ${expected}`,
    );
    assert.equal(problemOf('sqlite:dify.db', 'DIFY_DATABASE_URL'), `DIFY_DATABASE_URL=sqlite:…: ${expected}`);
    assert.equal(
      problemOf('postgres://ann:s3cret@h/dify?sslmod=disable', 'DIFY_DATABASE_URL'),
      'DIFY_DATABASE_URL=postgres://h/dify: the option sslmod is not supported',
    );
  });

  it('rejects what is no address', () => {
    const expected = 'must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/DATABASE';
    for (const url of ['mysql://h/db', 'postgres:h', 'sqlite:', 'postgres://h:x/db', 'postgres://h1:1,h2:99999/db'])
      assert.match(problemOf(url), new RegExp(`: ${expected}$`), url);
    assert.match(problemOf('postgres://h1,,h2/db'), /every server needs a name/);
  });
});

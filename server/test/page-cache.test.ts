import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PageCache } from '../src/domain/page-cache.ts';

const page = (bytes: number, version = 'v') => ({ version, next: undefined, body: Buffer.alloc(bytes) });

describe('the page cache', () => {
  it('holds what was used lately, within its bound', () => {
    const cache = new PageCache(1600);
    for (const key of ['a', 'b', 'c']) cache.set(key, page(100));
    for (let at = 0; at < 13; at += 1) cache.set(`more ${at}`, page(100));
    assert.ok(cache.get('a'), 'all sixteen fit');
    cache.set('one too many', page(100));
    assert.ok(cache.get('a'), 'was used just now');
    assert.equal(cache.get('b'), undefined, 'was used longest ago');
    assert.ok(cache.get('c'));
  });

  it('counts a page that is replaced once', () => {
    const cache = new PageCache(1600);
    cache.set('kept', page(100));
    for (let at = 0; at < 1000; at += 1) cache.set('same', page(100, `${at}`));
    assert.equal(cache.get('same')?.version, '999');
    assert.ok(cache.get('kept'));
  });

  it('takes no page that would push out too many, and forgets what it replaces', () => {
    const cache = new PageCache(1600);
    cache.set('a', page(100));
    cache.set('a', page(101));
    assert.equal(cache.get('a'), undefined);
  });
});

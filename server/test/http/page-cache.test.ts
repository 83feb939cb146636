import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type MessagePage, PageCache } from '../../src/domain/page-cache.ts';

const page = (bytes: number, version = 'v'): MessagePage => ({
  version,
  tag: `${version}.20n`,
  next: undefined,
  head: '',
  tail: '',
  docs: new Uint8Array(bytes),
  isCached: false,
});
const keep = (cache: PageCache, key: string, kept: MessagePage) => {
  cache.set(key, kept, 1);
  cache.set(key, kept, 1);
};

describe('the page cache', () => {
  it('keeps a page that is soon asked for again, and only the tag of one that is asked for once', () => {
    const cache = new PageCache(1600);
    cache.set('a', page(100), 1);
    assert.equal(cache.get('a'), undefined);
    assert.deepEqual(cache.current('a', 1), { tag: 'v.20n', docs: undefined });
    cache.set('a', page(100), 1);
    assert.equal(cache.get('a')?.docs.length, 100);
    assert.equal(cache.current('a', 1)?.docs?.length, 100);
  });

  it('takes a page that comes again after many others for a new one', () => {
    const cache = new PageCache(1_600_000);
    cache.set('a', page(100), 1);
    for (let at = 0; at < 2_000; at += 1) cache.set(`other ${at}`, page(100), 1);
    cache.set('a', page(100), 1);
    assert.equal(cache.get('a'), undefined);
    cache.set('a', page(100), 1);
    assert.ok(cache.get('a'));
  });

  it('gives out nothing by a mark that it was not found under, and nothing without a mark', () => {
    const cache = new PageCache(1600);
    cache.set('a', page(100), 1);
    assert.equal(cache.current('a', 2), undefined);
    assert.equal(cache.current('a', undefined), undefined);
    cache.set('a', page(100), 1);
    assert.equal(cache.current('a', 2), undefined);
    assert.equal(cache.current('a', undefined), undefined);
    keep(cache, 'b', page(100));
    cache.set('b', page(100), undefined);
    assert.equal(cache.current('b', undefined), undefined);
  });

  it('gives a page that it holds the mark under which it was found again', () => {
    const cache = new PageCache(1600);
    keep(cache, 'a', page(100));
    const kept = cache.get('a') ?? assert.fail('not kept');
    cache.set('a', kept, 2);
    assert.equal(cache.current('a', 1), undefined);
    assert.equal(cache.current('a', 2), kept);
  });

  it('holds what was used lately, within its bound', () => {
    const cache = new PageCache(1600);
    for (const key of ['a', 'b', 'c']) keep(cache, key, page(100));
    for (let at = 0; at < 13; at += 1) keep(cache, `more ${at}`, page(100));
    assert.ok(cache.get('a'), 'all sixteen fit');
    keep(cache, 'one too many', page(100));
    assert.ok(cache.get('a'), 'was used just now');
    assert.equal(cache.get('b'), undefined, 'was used longest ago');
    assert.ok(cache.get('c'));
  });

  it('is not emptied by pages that are asked for once', () => {
    const cache = new PageCache(1600);
    keep(cache, 'kept', page(100));
    for (let at = 0; at < 100_000; at += 1) cache.set(`walked over ${at}`, page(100), 1);
    assert.ok(cache.get('kept'));
  });

  it('counts a page that is replaced once', () => {
    const cache = new PageCache(1600);
    keep(cache, 'kept', page(100));
    keep(cache, 'same', page(100));
    for (let at = 0; at < 1000; at += 1) cache.set('same', page(100, `${at}`), at);
    assert.equal(cache.get('same')?.version, '999');
    assert.ok(cache.get('kept'));
  });

  it('takes no page that would push out too many, and forgets what it replaces', () => {
    const cache = new PageCache(1600);
    keep(cache, 'a', page(100));
    cache.set('a', page(101), 1);
    assert.equal(cache.get('a'), undefined);
  });
});

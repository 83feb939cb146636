import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type MessagePage, PageCache } from '../../src/domain/messages/page-cache.ts';

const page = (bytes: number, version = 'v'): MessagePage => ({
  version,
  tag: `${version}.20n`,
  next: undefined,
  head: '',
  tail: '',
  docs: new Uint8Array(bytes),
  isCached: false,
});
/** A page is cached when it is set for the second time. */
const setTwice = (cache: PageCache, key: string, value: MessagePage) => {
  cache.set(key, value, 1);
  cache.set(key, value, 1);
};

describe('the page cache', () => {
  it('caches a page that is requested again soon, and nothing of one that is requested once', () => {
    const cache = new PageCache(1600);
    cache.set('a', page(100), 1);
    assert.equal(cache.get('a'), undefined);
    assert.equal(cache.current('a', 1), undefined);
    cache.set('a', page(100), 1);
    assert.equal(cache.get('a')?.docs.length, 100);
    assert.equal(cache.current('a', 1)?.docs?.length, 100);
  });

  it('treats a page that is requested again after many others as new', () => {
    const cache = new PageCache(1_600_000);
    cache.set('a', page(100), 1);
    for (let at = 0; at < 2_000; at += 1) cache.set(`other ${at}`, page(100), 1);
    cache.set('a', page(100), 1);
    assert.equal(cache.get('a'), undefined);
    cache.set('a', page(100), 1);
    assert.ok(cache.get('a'));
  });

  it('remembers as many requests as it has room for pages', () => {
    const cache = new PageCache(4_000 * 65_536);
    cache.set('a', page(100), 1);
    for (let at = 0; at < 3_999; at += 1) cache.set(`other ${at}`, page(100), 1);
    cache.set('a', page(100), 1);
    assert.ok(cache.get('a'));
  });

  it('returns nothing for another data version, and nothing without a data version', () => {
    const cache = new PageCache(1600);
    cache.set('a', page(100), 1);
    assert.equal(cache.current('a', 2), undefined);
    assert.equal(cache.current('a', undefined), undefined);
    cache.set('a', page(100), 1);
    assert.equal(cache.current('a', 2), undefined);
    assert.equal(cache.current('a', undefined), undefined);
    setTwice(cache, 'b', page(100));
    cache.set('b', page(100), undefined);
    assert.equal(cache.current('b', undefined), undefined);
  });

  it('updates the data version of a cached page that was read again', () => {
    const cache = new PageCache(1600);
    setTwice(cache, 'a', page(100));
    const cachedPage = cache.get('a') ?? assert.fail('not cached');
    cache.set('a', cachedPage, 2);
    assert.equal(cache.current('a', 1), undefined);
    assert.equal(cache.current('a', 2), cachedPage);
  });

  it('caches the pages used most recently, within its size limit', () => {
    const cache = new PageCache(1600);
    for (const key of ['a', 'b', 'c']) setTwice(cache, key, page(100));
    for (let at = 0; at < 13; at += 1) setTwice(cache, `more ${at}`, page(100));
    assert.ok(cache.get('a'), 'all sixteen fit');
    setTwice(cache, 'one too many', page(100));
    assert.ok(cache.get('a'), 'used most recently');
    assert.equal(cache.get('b'), undefined, 'used least recently');
    assert.ok(cache.get('c'));
  });

  it('is not emptied by pages that are requested once', () => {
    const cache = new PageCache(1600);
    setTwice(cache, 'cached', page(100));
    for (let at = 0; at < 100_000; at += 1) cache.set(`once ${at}`, page(100), 1);
    assert.ok(cache.get('cached'));
  });

  it('counts a replaced page only once', () => {
    const cache = new PageCache(1600);
    setTwice(cache, 'cached', page(100));
    setTwice(cache, 'same', page(100));
    for (let at = 0; at < 1000; at += 1) cache.set('same', page(100, `${at}`), at);
    assert.equal(cache.get('same')?.version, '999');
    assert.ok(cache.get('cached'));
  });

  it('caches only the tag of a page that is too large, or that the client has', () => {
    const cache = new PageCache(1600);
    const tag = { tag: 'v.20n', docs: undefined };
    setTwice(cache, 'large', page(101));
    assert.deepEqual(cache.current('large', 1), tag);
    cache.set('unread', page(100), 1);
    cache.set('unread', tag, 1);
    assert.deepEqual(cache.current('unread', 1), tag);
  });

  it('does not cache a page that would evict too many, and drops the page that it replaces', () => {
    const cache = new PageCache(1600);
    setTwice(cache, 'a', page(100));
    cache.set('a', page(101), 1);
    assert.equal(cache.get('a'), undefined);
  });
});

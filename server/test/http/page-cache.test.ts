import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type MessagePage, PageCache } from '../../src/domain/messages/page-cache.ts';
import { type TextKey, textKey } from '../../src/domain/text-key.ts';

const page = (bytes: number, version = 'v'): MessagePage => ({
  version,
  kind: 'whole',
  tag: `${version}.20n`,
  next: undefined,
  head: '',
  tail: '',
  docs: new Uint8Array(bytes),
  isCached: false,
});
/** A page is cached when it is set for the second time. */
const setTwice = (cache: PageCache, key: string, value: MessagePage) => {
  cache.set(textKey(key), value, 1);
  cache.set(textKey(key), value, 1);
};

describe('the page cache', () => {
  it('caches a page that is requested again soon, and nothing of one that is requested once', () => {
    const cache = new PageCache(1600);
    cache.set(textKey('a'), page(100), 1);
    assert.equal(cache.get(textKey('a')), undefined);
    assert.equal(cache.current(textKey('a'), 1), undefined);
    cache.set(textKey('a'), page(100), 1);
    assert.equal(cache.get(textKey('a'))?.docs.length, 100);
    assert.equal(cache.current(textKey('a'), 1)?.kind, 'whole');
  });

  it('treats a page that is requested again after many others as new', () => {
    const cache = new PageCache(1_600_000);
    cache.set(textKey('a'), page(100), 1);
    for (let at = 0; at < 2_000; at += 1) cache.set(textKey(`other ${at}`), page(100), 1);
    cache.set(textKey('a'), page(100), 1);
    assert.equal(cache.get(textKey('a')), undefined);
    cache.set(textKey('a'), page(100), 1);
    assert.ok(cache.get(textKey('a')));
  });

  it('remembers as many requests as it has room for pages', () => {
    const cache = new PageCache(4_000 * 65_536);
    cache.set(textKey('a'), page(100), 1);
    for (let at = 0; at < 3_999; at += 1) cache.set(textKey(`other ${at}`), page(100), 1);
    cache.set(textKey('a'), page(100), 1);
    assert.ok(cache.get(textKey('a')));
  });

  it('returns nothing for another data version, and nothing without a data version', () => {
    const cache = new PageCache(1600);
    cache.set(textKey('a'), page(100), 1);
    assert.equal(cache.current(textKey('a'), 2), undefined);
    assert.equal(cache.current(textKey('a'), undefined), undefined);
    cache.set(textKey('a'), page(100), 1);
    assert.equal(cache.current(textKey('a'), 2), undefined);
    assert.equal(cache.current(textKey('a'), undefined), undefined);
    setTwice(cache, 'b', page(100));
    cache.set(textKey('b'), page(100), undefined);
    assert.equal(cache.current(textKey('b'), undefined), undefined);
  });

  it('updates the data version of a cached page that was read again', () => {
    const cache = new PageCache(1600);
    setTwice(cache, 'a', page(100));
    const cachedPage = cache.get(textKey('a')) ?? assert.fail('not cached');
    cache.set(textKey('a'), cachedPage, 2);
    assert.equal(cache.current(textKey('a'), 1), undefined);
    assert.equal(cache.current(textKey('a'), 2), cachedPage);
  });

  it('caches the pages used most recently, within its size limit', () => {
    const cache = new PageCache(1600);
    for (const key of ['a', 'b', 'c']) setTwice(cache, key, page(100));
    for (let at = 0; at < 13; at += 1) setTwice(cache, `more ${at}`, page(100));
    assert.ok(cache.get(textKey('a')), 'all sixteen fit');
    setTwice(cache, 'one too many', page(100));
    assert.ok(cache.get(textKey('a')), 'used most recently');
    assert.equal(cache.get(textKey('b')), undefined, 'used least recently');
    assert.ok(cache.get(textKey('c')));
  });

  it('does not free a page that a caller has got and may still be sending', () => {
    const cache = new PageCache(1600);
    setTwice(cache, 'sent', page(100));
    const sent = cache.get(textKey('sent')) ?? assert.fail('not cached');
    for (let at = 0; at < 16; at += 1) setTwice(cache, `more ${at}`, page(100));
    assert.equal(cache.get(textKey('sent')), undefined, 'evicted');
    assert.equal(sent.docs.length, 100);
  });

  it('is not emptied by pages that are requested once', () => {
    const cache = new PageCache(1600);
    setTwice(cache, 'cached', page(100));
    for (let at = 0; at < 100_000; at += 1) cache.set(textKey(`once ${at}`), page(100), 1);
    assert.ok(cache.get(textKey('cached')));
  });

  it('counts a replaced page only once', () => {
    const cache = new PageCache(1600);
    setTwice(cache, 'cached', page(100));
    setTwice(cache, 'same', page(100));
    for (let at = 0; at < 1000; at += 1) cache.set(textKey('same'), page(100, `${at}`), at);
    assert.equal(cache.get(textKey('same'))?.version, '999');
    assert.ok(cache.get(textKey('cached')));
  });

  it('caches only the tag of a page that is too large, or that the client has', () => {
    const cache = new PageCache(1600);
    const tag = { kind: 'tag', tag: 'v.20n' } as const;
    setTwice(cache, 'large', page(101));
    assert.deepEqual(cache.current(textKey('large'), 1), tag);
    cache.set(textKey('unread'), page(100), 1);
    cache.set(textKey('unread'), tag, 1);
    assert.deepEqual(cache.current(textKey('unread'), 1), tag);
  });

  it('never takes one key for another with the same hash', () => {
    const cache = new PageCache(1600);
    const [one, other] = ['one', 'other'].map((text) => ({ text, hash: 7 })) as [TextKey, TextKey];
    cache.set(one, page(100), 1);
    cache.set(one, page(100), 1);
    assert.ok(cache.get(one));
    assert.equal(cache.get(other), undefined);
    assert.equal(cache.current(other, 1), undefined);
    cache.set(other, { kind: 'tag', tag: 'w.20n' }, 1);
    assert.equal(cache.get(one), undefined);
    assert.equal(cache.current(one, 1), undefined);
    assert.equal(cache.current(other, 1)?.tag, 'w.20n');
  });

  it('does not cache a page that would evict too many, and drops the page that it replaces', () => {
    const cache = new PageCache(1600);
    setTwice(cache, 'a', page(100));
    cache.set(textKey('a'), page(101), 1);
    assert.equal(cache.get(textKey('a')), undefined);
  });
});

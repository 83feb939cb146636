import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseJson } from '../../../src/dify/map/json.ts';
import { removeSignatures } from '../../../src/dify/map/links.ts';
import { type MessageKey, orderMessages } from '../../../src/dify/rows/message-order.ts';
import { derivedId } from '../../../src/domain/derived-id.ts';

const parse = (text: string) => parseJson(text, (one) => one);
const parsedValue = (text: string): unknown => {
  const parsed = parse(text);
  assert.ok('value' in parsed, JSON.stringify(parsed));
  return parsed.value;
};

describe('JSON of a Dify installation', () => {
  it('keeps the order of names', () => {
    assert.deepEqual(Object.keys(parsedValue('{"z":1,"a":{"y":1,"b":2},"m":3}') as object), ['z', 'a', 'm']);
  });

  it('turns numbers that doubles cannot hold into texts', () => {
    assert.deepEqual(parsedValue('{"a":9007199254740993,"b":[-9007199254740993,1e21],"c":9007199254740991,"d":1.5}'), {
      a: '9007199254740993',
      b: ['-9007199254740993', '1e21'],
      c: 9007199254740991,
      d: 1.5,
    });
    assert.equal(parsedValue('123456789012345678901234567890'), '123456789012345678901234567890');
    assert.equal(parsedValue('1e400'), '1e400');
  });

  it('replaces NaN and Infinity outside strings by null', () => {
    const text = '{"a":NaN,"b":[Infinity,-Infinity,-1],"c":"NaN \\" Infinity","N":"\\\\"}';
    assert.deepEqual(parsedValue(text), { a: null, b: [null, null, -1], c: 'NaN " Infinity', N: '\\' });
    const parsed = parse(text);
    assert.ok('value' in parsed && parsed.hadNonFinite);
    assert.ok('value' in parse('{"a":"NaN"}'));
  });

  it('removes NUL and replaces lone surrogates, also in names', () => {
    assert.deepEqual(parsedValue('{"a\\u0000b":"x\\u0000y","\\ud800":["\\udfff!","\\ud83d\\ude00"]}'), {
      ab: 'xy',
      '\uFFFD': ['\uFFFD!', '😀'],
    });
  });

  it('reports malformed and too deep values', () => {
    for (const text of ['{', 'nul', "{'a': 1}", '{"a":NaN', 'NaNs', '"', '']) {
      assert.deepEqual(parse(text), { problem: 'malformed JSON' }, text);
    }
    const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
    assert.ok('value' in parse(nested(100)));
    assert.deepEqual(parse(nested(101)), { problem: 'nested too deep' });
    assert.deepEqual(parse(nested(200_000)), { problem: 'nested too deep' });
  });

  it('does not change prototypes', () => {
    const value = parsedValue('{"__proto__":{"isAdmin":true},"a\\u0000":1}') as { isAdmin?: boolean };
    assert.equal(value.isAdmin, undefined);
    assert.deepEqual(Object.keys(value), ['__proto__', 'a']);
  });
});

describe('signed links', () => {
  const signature = 'timestamp=1793600000&nonce=0a1b2c&sign=Zm9v-_8%3D';
  const file = '/files/2b1c7a0e-54b5-4e0c-9d6c-0d5a3f6f1a01/file-preview';
  const remove = (text: string, filesBase?: string) => removeSignatures(text, filesBase);

  it('lose their query', () => {
    assert.deepEqual(remove(`![x](https://dify.example:8443${file}?${signature}) and <${file}?${signature}=>.`), {
      text: `![x](https://dify.example:8443${file}) and <${file}>.`,
      count: 2,
    });
    assert.deepEqual(remove(`/files/tools/abc.png?${signature}&as_attachment=true.`), {
      text: '/files/tools/abc.png.',
      count: 1,
    });
  });

  it('get another host', () => {
    const text = `see http://old.example/base${file}?${signature}, ${file}?${signature} and http://a.example`;
    assert.deepEqual(remove(text, 'https://new.example/dify/'), {
      text: `see https://new.example/dify${file}, https://new.example/dify${file} and http://a.example`,
      count: 2,
    });
  });

  it('are found in JSON inside a text', () => {
    const escaped = `https:\\/\\/dify.example\\/files\\/tools\\/a.png?${signature.replaceAll('&', '\\u0026')}`;
    assert.deepEqual(remove(`{"url":"${escaped}"}`), {
      text: '{"url":"https:\\/\\/dify.example\\/files/tools\\/a.png"}',
      count: 1,
    });
  });

  it('are left alone without a signature', () => {
    for (const text of [
      `https://dify.example${file}`,
      `https://dify.example${file}?timestamp=1&nonce=2`,
      `https://other.example/list?${signature}`,
      'https://other.example/files/a?design=1&timestamp=1&nonce=2',
      'no link, sign=1',
    ])
      assert.deepEqual(remove(text), { text, count: 0 });
  });

  it('are removed from a long text in time', () => {
    const hostile = `${'http://'.repeat(100_000)}${'/files/'.repeat(100_000)}sign=`;
    assert.equal(remove(hostile).count, 0);
    const many = `${file}?${signature} `.repeat(10_000);
    assert.equal(remove(many).count, 10_000);
  });
});

describe('derived ids', () => {
  it('are UUIDs of version 5, the same for the same parts', () => {
    assert.match(derivedId('a', 'b'), /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(derivedId('a', 'b'), derivedId('a', 'b'));
    assert.notEqual(derivedId('a', 'b'), derivedId('ab'));
    assert.equal(derivedId('retriever_resource', 'm', '0'), 'b3b8fac9-e543-5919-b697-a2ad5b513010');
  });
});

describe('order of messages', () => {
  const key = (id: string, second: number, parent: string | null = null, conversation_id = 'c'): MessageKey => ({
    id,
    conversation_id,
    parent_message_id: parent,
    second,
  });
  const order = async (...pages: MessageKey[][]): Promise<string> => {
    async function* read() {
      yield* pages;
    }
    const ordered: string[] = [];
    for await (const keys of orderMessages(read())) ordered.push(...keys.map(({ id }) => id));
    return ordered.join('');
  };

  it('has parents before children inside a second', async () => {
    assert.equal(await order([key('a', 1, 'b'), key('b', 1, 'c'), key('c', 1), key('d', 1, 'x')]), 'cbad');
  });

  it('keeps seconds and conversations apart', async () => {
    const keys = [
      key('a', 1, 'c'),
      key('b', 2, 'c'),
      key('c', 2),
      key('d', 2, 'e', 'other'),
      key('e', 2, null, 'other'),
    ];
    assert.equal(await order(keys), 'acbed');
  });

  it('does not depend on pages', async () => {
    const keys = [key('a', 1), key('b', 2, 'd'), key('c', 2, 'b'), key('d', 2, 'a'), key('e', 3)];
    assert.equal(await order(keys), 'adbce');
    assert.equal(await order(...keys.map((one) => [one])), 'adbce');
    assert.equal(await order(keys.slice(0, 3), [], keys.slice(3)), 'adbce');
  });

  it('ends for cycles and long chains', async () => {
    assert.equal(await order([key('a', 1, 'b'), key('b', 1, 'a'), key('c', 1, 'c')]), 'bac');
    const chain = Array.from({ length: 50_000 }, (_, nth) => key(`${nth}`, 1, `${nth + 1}`));
    async function* read() {
      yield chain;
    }
    for await (const keys of orderMessages(read())) if (keys.length > 0) assert.equal(keys[0]?.id, '49999');
  });
});

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { makeSecret } from '../../src/domain/secret.ts';
import {
  describeOnOneEngine,
  itOnOneEngine,
  makeTenant,
  ndjson,
  onEveryEngine,
  type Tenant,
  type TestResponse,
  useService,
} from '../support/harness.ts';
import { describeRefusals } from '../support/scenarios.ts';

const types = ['text-embedding', 'rerank', 'llm', 'tts', 'speech2text', 'moderation'] as const;
const pathOf = (type: string) => `/v1/workspaces/current/models/model-types/${type}`;

type Model = Record<string, unknown> & { model: string };
type Provider = Record<string, unknown> & { provider: string; models: Model[] };

function model(name: string, more: object = {}): Model {
  return {
    model: name,
    label: { en_US: name },
    model_type: 'llm',
    features: null,
    fetch_from: 'predefined-model',
    model_properties: {},
    status: 'active',
    deprecated: false,
    load_balancing_enabled: false,
    has_invalid_load_balancing_configs: false,
    ...more,
  };
}

function provider(name: string, models: Model[], more: object = {}): Provider {
  return {
    provider: name,
    label: { en_US: name },
    icon_small: { en_US: `https://example.com/${name}.svg` },
    icon_small_dark: null,
    status: 'active',
    models,
    ...more,
  };
}

const recordOf = (workspace_id: string, entry: Provider) => ({ record: 'model_provider', workspace_id, ...entry });

/** Only the names of providers and their models. */
const namesOf = (response: TestResponse): [string, string[]][] =>
  response.body.data.map((entry: Provider) => [entry.provider, entry.models.map(({ model }) => model)]);

onEveryEngine('the model listing', (engine) => {
  const admin = makeSecret('admin');
  const refused = makeTenant();
  const service = useService(engine, [
    ...refused.records,
    { record: 'api_key', kind: 'admin', name: 'admin', secret: admin },
  ]);

  /** Creates a workspace with these providers. */
  async function createTenant(...providers: Provider[]): Promise<Tenant> {
    const tenant = makeTenant();
    await service.load([...tenant.records, ...providers.map((entry) => recordOf(tenant.ids.workspace, entry))]);
    return tenant;
  }

  const importProviders = (tenant: Tenant, ...providers: Provider[]) =>
    service.load(providers.map((entry) => recordOf(tenant.ids.workspace, entry)));
  const list = (tenant: Tenant, type: string = 'llm', key = tenant.keys.app) => service.as(key).get(pathOf(type));

  describeOnOneEngine(engine, 'keys', () => {
    it('200: an app key and a knowledge key get the same response', async () => {
      const tenant = await createTenant(provider('a/b/c', [model('m')]));
      const byApp = await list(tenant, 'llm', tenant.keys.app);
      const byKnowledge = await list(tenant, 'llm', tenant.keys.knowledge);
      assert.equal(byApp.status, 200);
      assert.match(byApp.headers['content-type'] ?? '', /^application\/json/);
      assert.deepEqual(namesOf(byApp), [['a/b/c', ['m']]]);
      assert.equal(byKnowledge.status, 200);
      assert.equal(byKnowledge.text, byApp.text);
    });

    it('200: a knowledge key restricted to datasets, even to none, gets all models of its workspace', async () => {
      const tenant = await createTenant(provider('p', [model('m')]));
      for (const dataset_ids of [[], [tenant.ids.dataset]]) {
        const secret = makeSecret('knowledge');
        const workspace_id = tenant.ids.workspace;
        await service.load([{ record: 'api_key', kind: 'knowledge', workspace_id, name: 'k', dataset_ids, secret }]);
        assert.deepEqual(namesOf(await list(tenant, 'llm', secret)), [['p', ['m']]]);
      }
    });

    it('200: the key of an app that is not a chat app lists models too', async () => {
      const tenant = makeTenant('workflow');
      await service.load([...tenant.records, recordOf(tenant.ids.workspace, provider('p', [model('m')]))]);
      assert.deepEqual(namesOf(await list(tenant)), [['p', ['m']]]);
    });

    it("200: lists models of the key's workspace only", async () => {
      const one = await createTenant(provider('shared', [model('of one')]), provider('only one', [model('m')]));
      const other = await createTenant(provider('shared', [model('of other')]));
      const empty = await createTenant();
      for (const kind of ['app', 'knowledge'] as const) {
        assert.deepEqual(namesOf(await list(one, 'llm', one.keys[kind])), [
          ['shared', ['of one']],
          ['only one', ['m']],
        ]);
        assert.deepEqual(namesOf(await list(other, 'llm', other.keys[kind])), [['shared', ['of other']]]);
        assert.equal((await list(empty, 'llm', empty.keys[kind])).text, '{"data":[]}');
      }
    });
  });

  describe('contents', () => {
    it('200: every type lists exactly its own models', async () => {
      const models = types.flatMap((model_type) => [
        model(`${model_type} 1`, { model_type }),
        model(`${model_type} 2`, { model_type }),
      ]);
      const tenant = await createTenant(provider('p', models));
      for (const type of types) {
        assert.deepEqual(namesOf(await list(tenant, type)), [['p', [`${type} 1`, `${type} 2`]]]);
      }
    });

    it('200: one name with two types is two models', async () => {
      const tenant = await createTenant(
        provider('p', [model('same', { label: { en_US: 'L' } }), model('same', { model_type: 'rerank' })]),
      );
      assert.deepEqual((await list(tenant)).body.data[0].models, [model('same', { label: { en_US: 'L' } })]);
      assert.deepEqual(namesOf(await list(tenant, 'rerank')), [['p', ['same']]]);
    });

    it('200: only active providers are listed', async () => {
      const others = ['inactive', 'no-configure', 'Active', 'ACTIVE', 'active ', '', 'deactivated', 'quota-exceeded'];
      const tenant = await createTenant(
        ...others.map((status) => provider(`p ${status}`, [model('m')], { status })),
        provider('active', [model('m')]),
      );
      assert.deepEqual(namesOf(await list(tenant)), [['active', ['m']]]);
    });

    it('200: only active models are listed', async () => {
      const others = ['inactive', 'no-configure', 'Active', 'disabled', ' active', ''];
      const tenant = await createTenant(
        provider('p', [...others.map((status) => model(`m ${status}`, { status })), model('listed')]),
      );
      assert.deepEqual(namesOf(await list(tenant)), [['p', ['listed']]]);
    });

    it('200: a provider without models of that type is left out', async () => {
      const tenant = await createTenant(
        provider('none at all', []),
        provider('of another type', [model('m', { model_type: 'tts' })]),
        provider('only inactive', [model('m', { status: 'disabled' }), model('n', { model_type: 'tts' })]),
        provider('some', [model('m')]),
      );
      assert.deepEqual(namesOf(await list(tenant)), [['some', ['m']]]);
      assert.deepEqual(namesOf(await list(tenant, 'tts')), [
        ['of another type', ['m']],
        ['only inactive', ['n']],
      ]);
      assert.equal((await list(tenant, 'rerank')).text, '{"data":[]}');
    });

    it('200: a deprecated model is listed, with deprecated: true', async () => {
      const tenant = await createTenant(provider('p', [model('old', { deprecated: true }), model('new')]));
      assert.deepEqual(
        (await list(tenant)).body.data[0].models.map(({ model, deprecated }: Model) => [model, deprecated]),
        [
          ['old', true],
          ['new', false],
        ],
      );
    });
  });

  describe('order', () => {
    const names = ['zeta', 'alpha', 'Mid', '10', '9', 'émile', 'alpha/beta'];

    it('200: providers are in the order in which they were imported, together or one by one', async () => {
      const many = Array.from({ length: 25 }, (_, at) => `p${(at * 7) % 25}`);
      const tenant = await createTenant(...many.map((name) => provider(name, [model('m')])));
      for (const name of names) await importProviders(tenant, provider(name, [model('m')]));
      assert.deepEqual(
        namesOf(await list(tenant)).map(([name]) => name),
        [...many, ...names],
      );
    });

    it('200: models are in the order of their provider record', async () => {
      const tenant = await createTenant(
        provider(
          'p',
          names.flatMap((name) => [model(name), model(name, { model_type: 'tts' })]),
        ),
      );
      assert.deepEqual(namesOf(await list(tenant)), [['p', names]]);
      assert.deepEqual(namesOf(await list(tenant, 'tts')), [['p', names]]);
    });

    it('200: a provider imported again keeps its position and has only its new models', async () => {
      const tenant = await createTenant(...['a', 'b', 'c'].map((name) => provider(name, [model('old')])));
      await importProviders(tenant, provider('b', [model('newer'), model('old')], { label: { en_US: 'B' } }));
      await importProviders(tenant, provider('a', [model('newest')]));
      const response = await list(tenant);
      assert.deepEqual(namesOf(response), [
        ['a', ['newest']],
        ['b', ['newer', 'old']],
        ['c', ['old']],
      ]);
      assert.deepEqual(response.body.data[1].label, { en_US: 'B' });
    });

    it('200: a provider that becomes active again keeps its position', async () => {
      const tenant = await createTenant(...['a', 'b'].map((name) => provider(name, [model('m')])));
      await importProviders(tenant, provider('a', [model('m')], { status: 'inactive' }));
      assert.deepEqual(namesOf(await list(tenant)), [['b', ['m']]]);
      await importProviders(tenant, provider('c', [model('m')]), provider('a', [model('m')]));
      assert.deepEqual(
        namesOf(await list(tenant)).map(([name]) => name),
        ['a', 'b', 'c'],
      );
    });

    it('200: a provider that gets its first model of the type later keeps its position', async () => {
      const tenant = await createTenant(provider('a', []), provider('b', [model('m')]));
      await importProviders(tenant, provider('a', [model('m')]));
      assert.deepEqual(
        namesOf(await list(tenant)).map(([name]) => name),
        ['a', 'b'],
      );
    });

    it('200: a model moved to another type is no longer listed under the first', async () => {
      const tenant = await createTenant(provider('a', [model('m')]));
      await importProviders(tenant, provider('a', [model('m', { model_type: 'rerank' })]));
      assert.deepEqual(namesOf(await list(tenant)), []);
      assert.deepEqual(namesOf(await list(tenant, 'rerank')), [['a', ['m']]]);
    });

    it('200: records imported over HTTP are listed immediately', async () => {
      const tenant = await createTenant(provider('a', [model('m')]));
      const body = ndjson([recordOf(tenant.ids.workspace, provider('b', [model('n')]))]);
      const headers = { 'content-type': 'application/x-ndjson' };
      assert.equal((await service.as(admin).post('/admin/records', body, headers)).status, 200);
      assert.deepEqual(namesOf(await list(tenant)), [
        ['a', ['m']],
        ['b', ['n']],
      ]);
    });
  });

  describe('an entry of the list', () => {
    it('200: has exactly the imported fields and values, and tenant_id', async () => {
      const full = provider(
        'langgenius/openai/openai',
        [
          model('text-embedding-3-small', {
            label: { en_US: 'Small', zh_Hans: '小' },
            model_type: 'text-embedding',
            features: ['vision', 'tool-call'],
            fetch_from: 'customizable-model',
            model_properties: {
              context_size: 8191,
              max_chunks: 2048,
              mode: 'chat',
              rate: 0.25,
              nested: { a: [1, null] },
            },
            deprecated: true,
            load_balancing_enabled: true,
            has_invalid_load_balancing_configs: true,
          }),
          model('plain', { model_type: 'text-embedding' }),
        ],
        {
          label: { en_US: 'OpenAI', zh_Hans: 'OpenAI 中文', fr_FR: 'OpenAI 😀' },
          icon_small: { en_US: 'https://example.com/en.svg', zh_Hans: 'https://example.com/zh.svg' },
          icon_small_dark: { en_US: 'https://example.com/dark.svg' },
        },
      );
      const tenant = await createTenant(full);
      const response = await list(tenant, 'text-embedding');
      assert.deepEqual(response.body, { data: [{ ...full, tenant_id: tenant.ids.workspace }] });
    });

    for (const value of [null, [], ['vision'], {}, { en_US: 'https://example.com/dark.svg' }, 'text', 0, false]) {
      itOnOneEngine(engine, `200: features and icon_small_dark may be ${JSON.stringify(value)}`, async () => {
        const tenant = await createTenant(provider('p', [model('m', { features: value })], { icon_small_dark: value }));
        const [listed] = (await list(tenant)).body.data;
        assert.deepEqual(listed.icon_small_dark, value);
        assert.deepEqual(listed.models[0].features, value);
      });
    }

    it('200: open objects are returned unchanged, including key order and unusual names', async () => {
      const model_properties =
        '{"z":1,"a":{"y":[{}],"b":null},"context_size":4096,"":"","__proto__":{"x":1},"constructor":2,"é\\u2028😀":"\\"\\\\","big":9007199254740991,"small":1e-7}';
      const label = '{"zh_Hans":"二","en_US":"two","__proto__":"p"}';
      const tenant = await createTenant();
      const line = ndjson([recordOf(tenant.ids.workspace, provider('p', [model('m')], { label: 'LABEL' }))])
        .replace('"model_properties":{}', `"model_properties":${model_properties}`)
        .replace('"LABEL"', label);
      const headers = { 'content-type': 'application/x-ndjson' };
      const response = await service.as(admin).post('/admin/records', line, headers);
      assert.equal(response.status, 200, response.text);
      const { text } = await list(tenant);
      assert.ok(text.includes(`"model_properties":${JSON.stringify(JSON.parse(model_properties))}`), text);
      assert.ok(text.includes(`"label":${label}`), text);
    });

    it('200: empty maps, long names and markup are returned unchanged', async () => {
      const entry = provider('p/<b>"\'&', [model('m'.repeat(5000), { label: {} })], { label: {}, icon_small: {} });
      const tenant = await createTenant(entry);
      assert.deepEqual((await list(tenant)).body.data, [{ ...entry, tenant_id: tenant.ids.workspace }]);
    });
  });

  describeOnOneEngine(engine, 'the type', () => {
    let tenant: Tenant;
    before(async () => {
      tenant = await createTenant(provider('p', [model('m')]));
    });

    for (const path of ['', 'llm/', '/llm', 'llm/x', 'llm;x', '%6']) {
      it(`400 or 404: ${JSON.stringify(path)} lists nothing`, async () => {
        const response = await list(tenant, path);
        assert.ok(response.status === 400 || response.status === 404, response.text);
      });
    }

    it('200: a type may be percent-encoded', async () => {
      assert.deepEqual(namesOf(await list(tenant, '%6Clm')), [['p', ['m']]]);
    });

    it('200: unknown query parameters are ignored', async () => {
      const plain = await list(tenant);
      assert.equal((await list(tenant, 'llm?model_type=tts&limit=x&limit=y')).text, plain.text);
    });

    it('200, 400 and 401: HEAD responds as GET does, without a body', async () => {
      const key = tenant.keys.app;
      const response = await service.request('HEAD', pathOf('llm'), { key });
      assert.equal(response.status, 200);
      assert.equal(response.text, '');
      assert.equal(response.headers['content-type'], (await list(tenant)).headers['content-type']);
      assert.equal((await service.request('HEAD', pathOf('nonsense'), { key })).status, 400);
      assert.equal((await service.request('HEAD', pathOf('llm'))).status, 401);
    });
  });

  const otherTypes = [
    'LLM',
    'Llm',
    'Text-Embedding',
    'text_embedding',
    'textembedding',
    'text-embeddings',
    'embedding',
  ];
  otherTypes.push('text-generation', 'embeddings', 'reranking', 'speech-to-text', 'llms', 'll', 'llm%20', '%20llm');
  otherTypes.push('llm%0A', 'llm%00', 'llm,tts', 'llm%2Ftts', 'llm%2F', encodeURIComponent('ｌｌｍ'), '*', 'null', '0');
  otherTypes.push('undefined', '__proto__', 'constructor', 'toString', "llm'--", 'x'.repeat(3000));
  const namesAllTypes = new RegExp(`^(?=.*\\bmodel_type\\b)${types.map((type) => `(?=.*"?${type}\\b)`).join('')}`);

  describeRefusals(
    { service: () => service, admin, engine },
    otherTypes.flatMap((type) =>
      ([refused.keys.app, refused.keys.knowledge] as const).map((key) => ({
        ...{ name: `the type ${type.slice(0, 40)}`, path: pathOf(type), key },
        ...{ status: 400, code: 'invalid_param', message: namesAllTypes },
      })),
    ),
  );
});

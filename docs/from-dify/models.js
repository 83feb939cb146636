// Records of the model providers of a workspace. Dify has no list of models in its database, so they are read from its API.
//   node models.js https://dify.example.com/v1 KEY > models.ndjson      (an app key or a knowledge key)
const [baseUrl, key] = process.argv.slice(2);
const end = (message) => {
  console.error(message);
  process.exit(1);
};
if (key === undefined) end('usage: node models.js BASE_URL KEY > models.ndjson      (BASE_URL ends in /v1)');

const types = ['llm', 'text-embedding', 'rerank', 'speech2text', 'tts', 'moderation'];
const records = new Map();

for (const type of types) {
  const headers = { authorization: `Bearer ${key}` };
  const url = `${baseUrl}/workspaces/current/models/model-types/${type}`;
  const response = await fetch(url, { headers }).catch((error) =>
    end(`${url}: ${error.cause?.message ?? error.message}`),
  );
  if (response.status !== 200) end(`${url}: status ${response.status}; usage: node models.js BASE_URL KEY`);
  for (const entry of (await response.json()).data) {
    const record = records.get(entry.provider) ?? {
      record: 'model_provider',
      workspace_id: entry.tenant_id,
      provider: entry.provider,
      label: entry.label,
      icon_small: entry.icon_small ?? {},
      icon_small_dark: entry.icon_small_dark ?? null,
      status: entry.status,
      models: [],
    };
    records.set(entry.provider, record);
    for (const model of entry.models) {
      record.models.push({
        model: model.model,
        label: model.label,
        model_type: model.model_type,
        features: model.features ?? null,
        fetch_from: model.fetch_from,
        model_properties: model.model_properties,
        status: model.status,
        deprecated: model.deprecated ?? false,
        load_balancing_enabled: model.load_balancing_enabled ?? false,
        has_invalid_load_balancing_configs: model.has_invalid_load_balancing_configs ?? false,
      });
    }
  }
}
for (const record of records.values()) console.log(JSON.stringify(record));

// Records of the model providers of a workspace. Dify keeps no list of models in its database: its API is asked.
//   node models.js https://dify.example.com/v1 KEY > models.ndjson      (an app key or a knowledge key)
const [baseUrl, key] = process.argv.slice(2);
const end = (words) => {
  console.error(words);
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
  if (response.status !== 200) end(`${url}: answered ${response.status}; usage: node models.js BASE_URL KEY`);
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
    for (const one of entry.models) {
      record.models.push({
        model: one.model,
        label: one.label,
        model_type: one.model_type,
        features: one.features ?? null,
        fetch_from: one.fetch_from,
        model_properties: one.model_properties,
        status: one.status,
        deprecated: one.deprecated ?? false,
        load_balancing_enabled: one.load_balancing_enabled ?? false,
        has_invalid_load_balancing_configs: one.has_invalid_load_balancing_configs ?? false,
      });
    }
  }
}
for (const record of records.values()) console.log(JSON.stringify(record));

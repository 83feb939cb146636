import { modelTypes } from '../contract/model.ts';
import { digestOf } from '../domain/secret.ts';
import { pick } from './map/json.ts';
import type { RunContext } from './run-context.ts';
import type { RecordInput } from './source.ts';

const responseMillis = 30_000;

type Model = Record<string, unknown>;
type Entry = Record<string, unknown> & { provider: string; models: Model[] };

/**
 * Model providers are not in the database: the API of the Dify installation lists them, for a knowledge key of each workspace. Errors
 * contain neither the key nor the response.
 */
export async function importModels(context: RunContext, baseUrl: string, keys: readonly string[]): Promise<void> {
  const { source, writer } = context;
  for (const key of keys) {
    const [row] = await source.query<{ workspace_id: string }>(
      `SELECT tenant_id AS workspace_id FROM api_tokens
       WHERE type = 'dataset' AND encode(sha256(convert_to(token, 'UTF8')), 'hex') = $1`,
      [digestOf(key)],
    );
    if (row === undefined) throw new Error('DIFY_API_KEY: not a knowledge key of this Dify installation');
    const providers = new Map<string, RecordInput & { models: Model[] }>();
    for (const type of modelTypes) {
      for (const entry of await readEntries(baseUrl, key, type)) {
        const provider = providers.get(entry.provider) ?? providerOf(entry, row.workspace_id);
        providers.set(entry.provider, provider);
        provider.models.push(...entry.models.map(modelOf));
      }
    }
    for (const provider of providers.values()) await writer.add(provider);
    await writer.flush();
  }
}

async function readEntries(baseUrl: string, key: string, type: string): Promise<Entry[]> {
  const url = `${baseUrl.replace(/\/+$/, '').replace(/(?:\/v1)?$/, '/v1')}/workspaces/current/models/model-types/${type}`;
  const signal = AbortSignal.timeout(responseMillis);
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}` }, signal }).catch(() => undefined);
  if (response === undefined) throw new Error('--dify-url: the Dify installation does not respond');
  if (response.status !== 200)
    throw new Error(`--dify-url: the list of models of type ${type} has status ${response.status}`);
  const body = (await response.json().catch(() => undefined)) as { data?: unknown } | undefined;
  if (!Array.isArray(body?.data)) throw new Error(`--dify-url: the list of models of type ${type} is not a list`);
  return body.data as Entry[];
}

const providerOf = (entry: Entry, workspace_id: string): RecordInput & { models: Model[] } => ({
  record: 'model_provider',
  workspace_id,
  ...pick(entry, ['provider', 'label', 'status']),
  icon_small: entry.icon_small ?? {},
  icon_small_dark: entry.icon_small_dark ?? null,
  models: [],
});

const modelOf = (model: Model): Model => ({
  ...pick(model, ['model', 'label', 'model_type', 'fetch_from', 'model_properties', 'status']),
  features: model.features ?? null,
  deprecated: model.deprecated ?? false,
  load_balancing_enabled: model.load_balancing_enabled ?? false,
  has_invalid_load_balancing_configs: model.has_invalid_load_balancing_configs ?? false,
});

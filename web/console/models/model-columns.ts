import { h } from '../../shared/dom.ts';
import type { Column } from '../components/table.ts';
import { count } from '../components/ui.ts';
import type { Model, WholeModelProvider } from '../state/types.ts';
import { localized } from './localized.ts';
import { ProviderIcon } from './provider-icon.ts';

export const modelTypes: Record<string, string> = {
  llm: 'Language model',
  'text-embedding': 'Embedding',
  rerank: 'Reranking',
  tts: 'Text to speech',
  speech2text: 'Speech to text',
  moderation: 'Moderation',
};

/** A model of a provider. A provider without models has one row. */
export type ModelRow = { provider: WholeModelProvider; model: Model | undefined };

/** The models of a provider, by type. */
export function rowsOf(provider: WholeModelProvider): ModelRow[] {
  if (provider.models.length === 0) return [{ provider, model: undefined }];
  const types = Object.keys(modelTypes);
  const byType = (one: Model, other: Model) => types.indexOf(one.model_type) - types.indexOf(other.model_type);
  return provider.models.toSorted(byType).map((model) => ({ provider, model }));
}

export const modelKeyOf = ({ provider, model }: ModelRow): string =>
  [provider.provider, model?.model_type, model?.model].join(' ');

/** Whether a name or id of the model or its provider contains the text, in any case. */
export function hasWords({ provider, model }: ModelRow, text: string): boolean {
  const names = [provider.provider, localized(provider.label), model?.model, localized(model?.label)];
  return names.some((name) => name?.toLowerCase().includes(text.trim().toLowerCase()));
}

export const columns: readonly Column<ModelRow>[] = [
  { title: 'Provider', cell: ({ provider }) => h(Provider, { provider }) },
  { title: 'Model', cell: ({ model }) => (model ? h(Name, model) : h('span', { class: 'soft' }, 'No models.')) },
  { title: 'Type', cell: ({ model }) => model && (modelTypes[model.model_type] ?? model.model_type) },
  { title: 'Status', cell: ({ model }) => model && h(ModelStatus, { model }) },
  { title: 'Features', cell: ({ model }) => featuresOf(model?.features).join(', ') },
  { title: 'Properties', cell: ({ model }) => model && h(Properties, { model }) },
];

function Provider({ provider: { provider, label, icon_small, icon_small_dark, status } }: Pick<ModelRow, 'provider'>) {
  const name = localized(label) ?? provider;
  return h(
    'div',
    { class: 'provider' },
    h(ProviderIcon, { name, light: icon_small, dark: icon_small_dark }),
    h(
      'div',
      null,
      h('p', null, name),
      h('p', { class: 'soft mono' }, provider),
      status !== 'active' && h(Status, { status }),
    ),
  );
}

function Name({ model, label }: Model) {
  const name = localized(label) ?? model;
  return h('div', null, h('strong', null, name), name !== model && h('p', { class: 'soft mono' }, model));
}

const ModelStatus = ({ model }: { model: Model }) =>
  h(
    'div',
    { class: 'row' },
    h(Status, { status: model.status }),
    model.deprecated && h('span', { class: 'badge warn' }, 'deprecated'),
    model.load_balancing_enabled && h('span', { class: 'badge' }, 'load balanced'),
    model.has_invalid_load_balancing_configs && h('span', { class: 'badge bad' }, 'load balancing misconfigured'),
  );

const Status = ({ status }: { status: string }) =>
  h('span', { class: status === 'active' ? 'badge good' : 'badge warn' }, status);

const Properties = ({ model: { model_properties, fetch_from } }: { model: Model }) =>
  h(
    'ul',
    { class: 'plain' },
    Object.entries({ ...model_properties, from: fetch_from.replaceAll('-', ' ') }).map(([property, value]) =>
      h('li', { key: property }, h('span', { class: 'soft' }, property.replaceAll('_', ' ')), ' ', formatted(value)),
    ),
  );

/** The record's features, which may be any JSON: usually a list of names. */
function featuresOf(features: unknown): string[] {
  if (features === null || features === undefined) return [];
  return [...new Set([features].flat().map((one) => (typeof one === 'string' ? one : JSON.stringify(one))))];
}

function formatted(value: unknown): string {
  if (typeof value === 'number') return count(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

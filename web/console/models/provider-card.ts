import { h } from '../../shared/dom.ts';
import type { Model, WholeModelProvider } from '../parts/types.ts';
import { count } from '../parts/ui.ts';
import { localized } from './localized.ts';
import { ProviderIcon } from './provider-icon.ts';

export const modelTypes: Record<string, string> = {
  llm: 'Language models',
  'text-embedding': 'Embedding',
  rerank: 'Reranking',
  tts: 'Text to speech',
  speech2text: 'Speech to text',
  moderation: 'Moderation',
};

/** A provider and its models, by type. */
export function ProviderCard({ provider }: { provider: WholeModelProvider }) {
  const name = localized(provider.label) ?? provider.provider;
  const groups = Object.entries(modelTypes)
    .map(([type, title]) => ({ title, models: provider.models.filter(({ model_type }) => model_type === type) }))
    .filter(({ models }) => models.length > 0);
  return h(
    'article',
    { class: 'card stack provider' },
    h(
      'header',
      { class: 'row' },
      h(ProviderIcon, { name, light: provider.icon_small, dark: provider.icon_small_dark }),
      h('div', null, h('h2', null, name), h('p', { class: 'soft mono' }, provider.provider)),
      h(Status, { status: provider.status }),
    ),
    groups.map(({ title, models }) =>
      h(
        'section',
        { key: title },
        h('h3', { class: 'soft' }, title),
        h(
          'ul',
          { class: 'plain' },
          models.map((model) => h(ModelRow, { key: model.model, model })),
        ),
      ),
    ),
    groups.length === 0 && h('p', { class: 'soft' }, 'No models.'),
  );
}

function ModelRow({ model }: { model: Model }) {
  const name = localized(model.label) ?? model.model;
  const properties = [
    ...Object.entries(model.model_properties).map(([property, value]) => [property, formatted(value)] as const),
    ['from', model.fetch_from.replaceAll('-', ' ')] as const,
  ];
  const features = featuresOf(model.features);
  return h(
    'li',
    { class: 'model' },
    h('div', null, h('h4', null, name), name !== model.model && h('p', { class: 'soft mono' }, model.model)),
    h(
      'div',
      { class: 'about' },
      h(
        'div',
        { class: 'row' },
        h(Status, { status: model.status }),
        model.deprecated && h('span', { class: 'badge warn' }, 'deprecated'),
        model.load_balancing_enabled && h('span', { class: 'badge' }, 'load balanced'),
        model.has_invalid_load_balancing_configs && h('span', { class: 'badge bad' }, 'load balancing misconfigured'),
      ),
      h(
        'dl',
        { class: 'row' },
        properties.map(([property, value]) =>
          h('div', { key: property }, h('dt', null, property.replaceAll('_', ' ')), h('dd', null, value)),
        ),
        features.length > 0 && h('div', null, h('dt', null, 'features'), h('dd', null, features.join(', '))),
      ),
    ),
  );
}

function Status({ status }: { status: string }) {
  return h('span', { class: status === 'active' ? 'badge good' : 'badge warn' }, status);
}

/** The record's features, which may be any JSON: usually a list of names. */
function featuresOf(features: unknown): string[] {
  if (features === null || features === undefined) return [];
  return [...new Set([features].flat().map((one) => (typeof one === 'string' ? one : JSON.stringify(one))))];
}

function formatted(value: unknown): string {
  if (typeof value === 'number') return count(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

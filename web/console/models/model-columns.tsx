import type { Column } from '../components/table.tsx';
import { capital, count } from '../components/ui.tsx';
import type { Model, WholeModelProvider } from '../state/types.ts';

export const modelTypes: Record<string, string> = {
  llm: 'Language model',
  'text-embedding': 'Embedding',
  rerank: 'Reranking',
  tts: 'Text to speech',
  speech2text: 'Speech to text',
  moderation: 'Moderation',
};

const types = Object.keys(modelTypes);

/** The models of a provider that match, by type. */
export function modelsOf(provider: WholeModelProvider, matches: (model: Model) => boolean): Model[] {
  const byType = (one: Model, other: Model) => types.indexOf(one.model_type) - types.indexOf(other.model_type);
  return provider.models.filter(matches).toSorted(byType);
}

export const modelKeyOf = ({ model_type, model }: Model): string => `${model_type} ${model}`;

export const columns: readonly Column<Model>[] = [
  { title: 'Model', cell: (model) => <Name model={model} /> },
  { title: 'Type', cell: ({ model_type }) => modelTypes[model_type] ?? model_type },
  { title: 'Context', unit: 'tokens', cell: ({ model_properties }) => formatted(model_properties.context_size) },
  { title: 'Features', cell: (model) => <Features of={model} /> },
  {
    title: 'More',
    isExtra: true,
    cell: (model) => (
      <div class="soft one-line" title={propertiesOf(model)}>
        {propertiesOf(model)}
      </div>
    ),
  },
];

export function Provider({ provider: whole }: { provider: WholeModelProvider }) {
  const { provider, label, status, models } = whole;
  const name = localized(label) ?? provider;
  return (
    <div class="row">
      {/* No image of a record: its host would learn who looks at the console. */}
      <span class="provider-icon tick-mark soft" aria-hidden={true}>
        {[...name][0]?.toUpperCase()}
      </span>
      <h2>{name}</h2>
      <span class="soft mono">{provider}</span>
      {status !== 'active' && <Status status={status} />}
      {models.length === 0 && <span class="soft">No models.</span>}
    </div>
  );
}

/** The state is named where something is to be looked at: most models are active. */
function Name({ model: whole }: { model: Model }) {
  const { model, label, status, deprecated, has_invalid_load_balancing_configs: isMisconfigured } = whole;
  const name = localized(label) ?? model;
  return (
    <div class="row">
      <strong>{name}</strong>
      {name !== model && <span class="soft mono small">{model}</span>}
      {status !== 'active' && <Status status={status} />}
      {deprecated && <span class="badge warn">Deprecated</span>}
      {isMisconfigured && <span class="badge bad">Load balancing misconfigured</span>}
    </div>
  );
}

/** The words of a record in plain English: `no-configure`, `tool-call`. */
const words = (text: string): string => (text === 'no-configure' ? 'not configured' : text.replaceAll(/[-_]/g, ' '));

const Status = ({ status }: { status: string }) => <span class="badge warn">{capital(words(status))}</span>;

/** The other properties in one line, and where the model comes from if its provider did not define it. */
function propertiesOf({ model_properties: { context_size, ...others }, fetch_from }: Model): string {
  const texts = Object.entries(others).map(([name, value]) =>
    name === 'mode' ? formatted(value) : `${words(name)} ${formatted(value)}`,
  );
  return [...texts, fetch_from !== 'predefined-model' && words(fetch_from)].filter(Boolean).join(', ');
}

/** The record's features, which may be any JSON: usually a list of names. */
function Features({ of: { features, load_balancing_enabled } }: { of: Model }) {
  const listed = [features ?? []].flat().map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
  const tags = [...new Set([...listed, ...(load_balancing_enabled ? ['load balanced'] : [])])];
  if (tags.length === 0) return null;
  return (
    <div class="row tight">
      {tags.map((tag) => (
        <span key={tag} class="badge">
          {words(tag)}
        </span>
      ))}
    </div>
  );
}

function formatted(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value === 'number') return count(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A text that may be given by locale: American English, else the first that there is. */
export function localized(texts: unknown): string | undefined {
  if (typeof texts === 'string') return texts || undefined;
  if (typeof texts !== 'object' || texts === null) return undefined;
  const byLocale = texts as Record<string, unknown>;
  return [byLocale.en_US, ...Object.values(byLocale)].find((text) => typeof text === 'string' && text !== '') as
    | string
    | undefined;
}

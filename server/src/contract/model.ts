import { anyJson, choice, described, flag, id, list, named, openObject, text, texts } from './primitives.ts';

export const modelTypes = ['text-embedding', 'rerank', 'llm', 'tts', 'speech2text', 'moderation'] as const;
export type ModelType = (typeof modelTypes)[number];

export const Model = named('Model', 'A model.', {
  model: text('Model name.'),
  label: texts('Label by locale key.'),
  model_type: choice(modelTypes, 'Model type.'),
  features: anyJson('Features of the model, or null.'),
  fetch_from: text('Origin of the model definition, for example `predefined-model`.'),
  model_properties: openObject('Model properties, for example `context_size`.'),
  status: text('Model status, for example `active`.'),
  deprecated: flag('Whether the model is deprecated.'),
  load_balancing_enabled: flag('Whether load balancing is enabled.'),
  has_invalid_load_balancing_configs: flag('Whether invalid load-balancing configurations exist.'),
});

export const ModelProvider = named('ModelProvider', 'A model provider with its models.', {
  provider: text('Provider identifier made of slash-separated parts.'),
  label: texts('Label by locale key.'),
  icon_small: texts('Icon URL by locale key.'),
  icon_small_dark: anyJson('Icon for dark themes, or null.'),
  status: text('Provider status, for example `active`.'),
  models: list(Model, 'Models of the requested type offered by the provider.'),
  tenant_id: id('Workspace identifier.'),
});

export const ModelListing = described('Providers with their models.', {
  data: list(ModelProvider, 'Providers with models of the requested type.'),
});

import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { input, list, named, nullable, openObject, optional, text } from './primitives.ts';
import { noNul } from './rules.ts';
import { Type } from './type.ts';

export const AppInfo = named('AppInfo', 'The app of the key.', {
  name: text('Name of the app.'),
  description: nullable(text('Description of the app.')),
  tags: list(Type.String(), 'Always empty.'),
  mode: text('App mode, for example `chat`.'),
  author_name: nullable(text('Always null.')),
});

const disabled = () => ({ enabled: false });

/** Neutral values of the parameters of an app. The app record's `parameters` replace them, by name. */
const parameterDefaults = {
  opening_statement: null,
  suggested_questions: [],
  suggested_questions_after_answer: disabled(),
  speech_to_text: disabled(),
  text_to_speech: disabled(),
  annotation_reply: disabled(),
  more_like_this: disabled(),
  retriever_resource: { enabled: true },
  user_input_form: [],
  sensitive_word_avoidance: { enabled: false, type: '', configs: [] },
  file_upload: {
    image: {
      enabled: false,
      number_limits: 3,
      detail: 'high',
      transfer_methods: ['remote_url', 'local_file'],
    },
  },
  system_parameters: {
    image_file_size_limit: 10,
    video_file_size_limit: 100,
    audio_file_size_limit: 50,
    file_size_limit: 15,
    workflow_file_upload_limit: 10,
  },
};

/** Any JSON value, since the app record may replace it. */
const shown = (value: unknown) => Type.Unsafe<unknown>({ description: `Default: \`${JSON.stringify(value)}\`.` });
const schemasOf = (defaults: object) =>
  Object.fromEntries(Object.entries(defaults).map(([name, value]) => [name, shown(value)]));

export const AppParameters = named(
  'AppParameters',
  'Settings of the app for front ends.',
  schemasOf(parameterDefaults),
);

type OpenObject = Record<string, unknown>;

/** Without unknown names: only the parameters that responses have are stored. */
export function knownParameters(parameters: OpenObject | null): OpenObject | null {
  if (parameters === null) return null;
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => Object.hasOwn(parameterDefaults, name)));
}

export const parametersOf = (parameters: OpenObject | null): OpenObject => ({ ...parameterDefaults, ...parameters });

export const AppMeta = named('AppMeta', 'Icons of tools.', { tool_icons: openObject('Always empty.') });

/** In the order of the response. `title` and `description` are those of the app. */
const siteDefaults = {
  title: null,
  chat_color_theme: null,
  chat_color_theme_inverted: false,
  icon_type: null,
  icon: null,
  icon_background: null,
  description: null,
  copyright: null,
  privacy_policy: null,
  input_placeholder: null,
  custom_disclaimer: null,
  default_language: 'en-US',
  show_workflow_steps: false,
  use_icon_as_answer_icon: false,
  icon_url: null,
};

export const AppSite = input('AppSite', 'Display settings of front ends. The app record can add more.', {
  ...schemasOf(siteDefaults),
  title: Type.Unsafe<unknown>({ description: 'Default: the name of the app.' }),
  description: Type.Unsafe<unknown>({ description: 'Default: the description of the app.' }),
});

export type AppDetails = {
  name: string;
  mode: string;
  description: string | null;
  parameters: OpenObject | null;
  site: OpenObject | null;
};

export const infoOf = ({ name, description, mode }: AppDetails): Static<typeof AppInfo> => ({
  name,
  description,
  tags: [],
  mode,
  author_name: null,
});

export const siteOf = ({ name, description, site }: AppDetails): OpenObject => ({
  ...siteDefaults,
  title: name,
  description,
  ...site,
});

export const Result = named('Result', 'Done.', { result: text('Always `success`.') });
export const AppQuery = Type.Object({
  user: optional.text('End-user identifier. It has no effect.'),
});

export const NewApp = Type.Object(
  {
    name: Type.String({ maxLength: limits.idUnitsMax, pattern: noNul.source, description: 'Name.' }),
    mode: optional.text('App mode. Default: `chat`.', {
      minLength: 1,
      maxLength: limits.idUnitsMax,
      pattern: noNul.source,
    }),
    workspace_id: optional.text('Workspace of the app. Required if there are several.'),
  },
  { additionalProperties: false },
);
export type NewApp = Static<typeof NewApp>;

export const retentionDays = nullable(
  Type.Integer({
    minimum: limits.retentionDaysMin,
    maximum: limits.retentionDaysMax,
    description: 'Days from the last message of a conversation until it is erased; null for `RETENTION_DAYS`.',
  }),
);

export const AppChange = Type.Object(
  {
    name: Type.Optional(NewApp.properties.name),
    retention_days: Type.Optional(retentionDays),
  },
  { additionalProperties: false, minProperties: 1 },
);
export type AppChange = Static<typeof AppChange>;

/** A new message. Only the fields that decide the form of the response; an upstream gets the request as it is. */
export const ChatMessageRequest = input('ChatMessageRequest', 'A message to send.', {
  response_mode: Type.Optional(text('`streaming` or `blocking`.')),
  conversation_id: Type.Optional(nullable(text('Id of the conversation to continue.'))),
});

import { hash } from 'node:crypto';
import type { Message } from '../../contract/message.ts';
import { filterTerm, indexTokens, partsOfId } from './tokens.ts';

/** Indexed texts of messages, segments and child chunks. */

const digest = (text: string): string => hash('sha1', text).slice(0, 16);

/** Tokens for exact values. Ids and users may have any characters, so they are hashed. */
export const filterTerms = {
  app: (id: string) => filterTerm(`a${digest(id)}`),
  user: (user: string) => filterTerm(`u${digest(user)}`),
  dataset: (id: string) => filterTerm(`k${digest(id)}`),
  document: (id: string) => filterTerm(`o${digest(id)}`),
  segment: (id: string) => filterTerm(`s${digest(id)}`),
  provider: (provider: string) => filterTerm(`v${digest(provider)}`),
  model: (model: string) => filterTerm(`m${digest(model)}`),
  rating: { like: filterTerm('l'), dislike: filterTerm('d') },
  status: { normal: filterTerm('n'), error: filterTerm('e') },
  has: { files: filterTerm('f'), form: filterTerm('h'), waiting_form: filterTerm('w'), citations: filterTerm('c') },
  cost: (cost: number) => bucketTerm('p', cost * 1e9),
  latency: (seconds: number) => bucketTerm('t', seconds * 1e3),
};

const bucketsMax = 64;
const bucketOf = (value: number): number =>
  value < 1 ? 0 : Math.min(bucketsMax - 1, 1 + Math.floor(Math.log2(value)));
const bucketTerm = (letter: string, value: number): string => filterTerm(`${letter}${bucketOf(value)}`);

/** One of these tokens is in every message with at least this cost or latency; some with less have one too. */
export const filterTermsFrom = {
  cost: (cost: number) => bucketsFrom('p', cost * 1e9),
  latency: (seconds: number) => bucketsFrom('t', seconds * 1e3),
};

const bucketsFrom = (letter: string, value: number): string[] => {
  const first = bucketOf(value);
  return Array.from({ length: bucketsMax - first }, (_, index) => filterTerm(`${letter}${first + index}`));
};

export type SearchedField = 'query' | 'answer' | 'error' | 'file' | 'form';
/** A message with what readers of `/v1` cannot see. */
export type SearchedMessage = Message & { items?: readonly object[] };

/** The texts in which a query is searched, in the order in which a snippet prefers them. */
export function fieldsOf(message: SearchedMessage): [SearchedField, string][] {
  const { query, answer, error, message_files, extra_contents, items = [] } = message;
  const forms = extra_contents.flatMap(({ form_definition: form, form_submission_data: data }) => [
    form?.form_content ?? '',
    data?.rendered_content ?? '',
  ]);
  const fields: [SearchedField, string][] = [
    ['query', query],
    ['answer', answer],
    ['error', error ?? ''],
    ...message_files.map(({ filename }): [SearchedField, string] => ['file', filename]),
    ...forms.map((text): [SearchedField, string] => ['form', text]),
    // The field is shown to readers only, who search without items.
    ...textsOfItems(items, [query, answer]).map((text): [SearchedField, string] => ['answer', text]),
  ];
  return fields.filter(([, text]) => text !== '');
}

/** Names, states and references: no one searches for them. Encrypted texts have no words. */
const unsearched = new Set([
  'id',
  'type',
  'role',
  'status',
  'object',
  'call_id',
  'encrypted_content',
  'file_data',
  'detail',
]);

/** The texts of items that are not part of one of these texts, each once. */
function textsOfItems(items: readonly object[], shown: readonly string[]): string[] {
  const texts = new Set<string>();
  for (const text of stringsIn(items)) {
    if (text !== '' && !text.startsWith('data:') && !shown.some((one) => one.includes(text))) texts.add(text);
  }
  return [...texts];
}

function* stringsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (typeof value === 'object' && value !== null) {
    for (const [name, inner] of Object.entries(value)) if (!unsearched.has(name)) yield* stringsIn(inner);
  }
}

export const textsOf = (message: SearchedMessage): string[] => fieldsOf(message).map(([, text]) => text);

/** Names by which a message is found although its texts do not contain them. */
export const namesOf = ({ id, conversation_id }: Message, user: string | null): string[] => [
  ...(user === null ? [] : [user]),
  id,
  conversation_id,
];

/** Fields of a message in the index. `words` follow from its text; `filterTerms` are stored, since their sources change. */
export type IndexedMessage = {
  words: string;
  filterTerms: string;
  created_at: number;
  user: string | null;
  cost: number | null;
  latency: number;
  /** When its form expires that is not submitted yet; null without such a form. */
  waits_until: number | null;
  /** `CitedTexts` as JSON; null for an answer that neither cites a text nor was disliked. */
  cited: string | null;
};

/** What an answer cites, each text once, and 1 if it was disliked, else 0. */
export type CitedTexts = { disliked: 0 | 1; places: [dataset: string, document: string, segment: string][] };

/** What is stored in addition to the text. */
type Owner = { app_id: string; user: string | null; model_provider: string | null; model: string | null };

export function indexedMessage(text: string, owner: Owner): IndexedMessage {
  const message = JSON.parse(text) as SearchedMessage;
  const cost = message.total_price === null ? null : Number(message.total_price);
  const latency = message.provider_response_latency;
  const waits_until = waitsUntil(message);
  return {
    words: wordsOf(message),
    filterTerms: [...filterTermsOf(message, owner, cost, waits_until !== null)].join(' '),
    created_at: message.created_at,
    user: owner.user,
    cost,
    latency,
    waits_until,
    cited: citedIn(message),
  };
}

function citedIn({ feedback, retriever_resources }: Message): string | null {
  const disliked = feedback?.rating === 'dislike' ? 1 : 0;
  if (disliked === 0 && retriever_resources.length === 0) return null;
  const bySegment = new Map(retriever_resources.map((resource) => [resource.segment_id, resource]));
  const places = [...bySegment.values()].map(
    ({ dataset_id, document_id, segment_id }): CitedTexts['places'][number] => [
      ...([dataset_id, document_id, segment_id] as const),
    ],
  );
  return JSON.stringify({ disliked, places } satisfies CitedTexts);
}

/** The tokens of the texts and ids. They change only with the text of the message. */
export const wordsOf = (message: SearchedMessage): string =>
  tokensWithIds(textsOf(message), namesOf(message, null)).join(' ');

export const tokensWithIds = (texts: readonly string[], ids: readonly string[]): string[] => [
  ...indexTokens(texts),
  ...new Set(ids.flatMap(partsOfId)),
];

function waitsUntil({ extra_contents }: Message): number | null {
  const times = extra_contents.flatMap(({ submitted, form_definition }) =>
    submitted || form_definition === null ? [] : form_definition.expiration_time,
  );
  return times.length === 0 ? null : Math.max(...times);
}

const citedTerms = ({ dataset_id, document_id, segment_id }: Message['retriever_resources'][number]): string[] => [
  filterTerms.dataset(dataset_id),
  filterTerms.document(document_id),
  filterTerms.segment(segment_id),
];

function* filterTermsOf(message: Message, owner: Owner, cost: number | null, isWaiting: boolean): Generator<string> {
  const { app_id, user, model_provider, model } = owner;
  yield filterTerms.app(app_id);
  if (user !== null) {
    yield filterTerms.user(user);
    yield* indexTokens([user]);
  }
  if (model_provider !== null) yield filterTerms.provider(model_provider);
  if (model !== null) yield filterTerms.model(model);
  yield filterTerms.status[message.status];
  if (message.feedback !== null) yield filterTerms.rating[message.feedback.rating];
  if (message.message_files.length > 0) yield filterTerms.has.files;
  if (message.extra_contents.length > 0) yield filterTerms.has.form;
  if (isWaiting) yield filterTerms.has.waiting_form;
  const cited = message.retriever_resources;
  if (cited.length > 0) yield filterTerms.has.citations;
  yield* new Set(cited.flatMap(citedTerms));
  if (cost !== null) yield filterTerms.cost(cost);
  yield filterTerms.latency(message.provider_response_latency);
}

/**
 * Positions sort messages by time: those of one second are numbered as they come. If a second has more, the others sort as
 * if they were up to `overflowSeconds` later.
 */
export const positionsPerSecond = 2 ** 16;
const overflowSeconds = 1_000;
const secondsMax = 2 ** 36;
export const firstPosition = (created_at: number): number =>
  Math.max(-secondsMax, Math.min(created_at, secondsMax)) * positionsPerSecond;

/** Messages before a time have positions before this one; so have some that are not. */
export const endPosition = (created_at: number): number =>
  firstPosition(created_at) + (overflowSeconds + 1) * positionsPerSecond;

/** The next position of a second, given its last one. If all are used, one that may be used too. `random`: in [0, 1). */
export function positionAfter(
  last: number | null,
  created_at: number,
  random: () => number,
): { position: number; isFree: boolean } {
  const first = firstPosition(created_at);
  if (last === null) return { position: first, isFree: true };
  const end = first + positionsPerSecond;
  if (last + 1 < end) return { position: last + 1, isFree: true };
  return { position: end + Math.floor(random() * overflowSeconds * positionsPerSecond), isFree: false };
}

import type { Mapping, RecordInput } from '../source.ts';
import { mapCitations } from './citations.ts';
import { type FileRow, mapFile, type ToolFile } from './files.ts';
import { type FormRow, mapForm } from './forms.ts';
import type { OpenObject } from './json.ts';
import { withoutInternals } from './json.ts';
import { RecordMapper } from './record-mapper.ts';
import { mapThought, type ThoughtRow } from './thoughts.ts';

export type MessageRow = {
  id: string;
  conversation_id: string;
  workspace_id: string;
  parent_message_id: string | null;
  inputs: string | null;
  query: string | null;
  answer: string | null;
  status: string;
  error: string | null;
  message_metadata: string | null;
  message_tokens: number;
  answer_tokens: number;
  provider_response_latency: number;
  total_price: string | null;
  currency: string | null;
  model_provider: string | null;
  model_id: string | null;
  created_at: number;
  is_unfinished: boolean;
  is_open: boolean;
};

export type FeedbackRow = { message_id: string; rating: string; content: string | null };

/** The parts of a batch of messages, by message. Lists are in the order of the record. */
export type MessageParts = {
  files: ReadonlyMap<string, readonly FileRow[]>;
  toolFiles: ReadonlyMap<string, ToolFile>;
  thoughts: ReadonlyMap<string, readonly ThoughtRow[]>;
  forms: ReadonlyMap<string, readonly FormRow[]>;
  /** The newest one of the end user. */
  feedback: ReadonlyMap<string, FeedbackRow>;
};

const repair = {
  lists: ['message_files', 'retriever_resources', 'agent_thoughts', 'extra_contents'],
  optional: {
    inputs: {},
    total_price: null,
    currency: null,
    model_provider: null,
    model: null,
    provider_response_latency: 0,
    feedback: null,
  },
  skipsLarge: true,
};

/** Undefined if the message cannot be imported: then it is listed. */
export function mapMessage(row: MessageRow, parts: MessageParts, reading: Mapping): RecordInput | undefined {
  const { id, created_at } = row;
  const mapper = new RecordMapper('message', id, reading);
  const fileContext = { mapper, workspaceId: row.workspace_id, toolFiles: parts.toolFiles };
  const feedback = parts.feedback.get(id);
  /** Maps each row of a part; rows that cannot be imported are left out. */
  const mapAll = <R>(
    field: string,
    rows: readonly R[] | undefined,
    map: (row: R, path: string) => OpenObject | undefined,
  ): OpenObject[] =>
    (rows ?? []).flatMap((one, index): OpenObject[] => {
      const path = `${field}[${index}]`;
      const part = map(one, path);
      return part === undefined ? [] : [mapper.place(part, path)];
    });

  const record: RecordInput = {
    record: 'message',
    id,
    conversation_id: row.conversation_id,
    parent_message_id: row.parent_message_id,
    inputs: withoutInternals(mapper.object(row.inputs, 'inputs') ?? {}),
    query: mapper.text(row.query ?? ''),
    answer: mapper.text(row.answer ?? ''),
    status: row.status === 'error' ? 'error' : 'normal',
    error: mapper.textOrNull(row.error),
    message_files: mapAll('message_files', parts.files.get(id), (file, path) => mapFile(file, path, fileContext)),
    feedback: feedback === undefined ? null : { rating: feedback.rating },
    feedback_content: mapper.textOrNull(feedback?.content),
    retriever_resources: mapCitations(mapper, row),
    agent_thoughts: mapAll('agent_thoughts', parts.thoughts.get(id), (thought, path) =>
      mapThought(mapper, thought, path),
    ),
    created_at,
    extra_contents: mapAll('extra_contents', parts.forms.get(id), (form, path) => mapForm(mapper, form, path)),
    message_tokens: row.message_tokens,
    answer_tokens: row.answer_tokens,
    provider_response_latency: row.provider_response_latency,
    total_price: row.total_price,
    currency: row.currency,
    model_provider: mapper.textOrNull(row.model_provider || null),
    model: mapper.textOrNull(row.model_id || null),
  };
  return mapper.finish(record, repair);
}

import { type FileRow, type ToolFile, toolFileId } from '../map/files.ts';
import type { FormRow } from '../map/forms.ts';
import type { FeedbackRow, MessageParts } from '../map/message.ts';
import type { ThoughtRow } from '../map/thoughts.ts';
import type { DifySource } from '../source.ts';
import { columns, epoch } from './selection.ts';

/** The parts of messages: one statement for each table. */
export async function readMessageParts(source: DifySource, messageIds: readonly string[]): Promise<MessageParts> {
  const read = async <R extends { message_id: string }>(isPresent: boolean, sql: string) =>
    isPresent && messageIds.length > 0 ? await source.query<R>(sql, [messageIds]) : [];
  const has = (...tables: string[]) => tables.every((table) => source.has(table));

  const files = await read<FileRow>(has('message_files', 'upload_files'), selectFiles);
  const toolFiles = await readToolFiles(source, files);
  const thoughts = await read<ThoughtRow>(has('message_agent_thoughts'), selectThoughts(source));
  const forms = await read<FormRow>(has('execution_extra_contents', 'human_input_forms'), selectForms);
  const feedback = await read<FeedbackRow>(has('message_feedbacks'), selectFeedback(source));
  return {
    files: byMessage(files),
    toolFiles,
    thoughts: byMessage(thoughts),
    forms: byMessage(forms),
    feedback: new Map(feedback.map((row) => [row.message_id, row])),
  };
}

const byMessage = <R extends { message_id: string }>(rows: readonly R[]): ReadonlyMap<string, readonly R[]> =>
  Map.groupBy(rows, ({ message_id }) => message_id);

/**
 * The files of a message are usually inserted together and have equal times; the source returns them in the order of
 * insertion. Their ids are random, so the place of the row decides.
 */
const selectFiles = `
  SELECT f.id, f.message_id, f.type, f.transfer_method, f.url, f.belongs_to, f.upload_file_id, u.id AS upload_id,
    u.name AS upload_name, u.size AS upload_size, u.mime_type AS upload_type, u.tenant_id AS upload_workspace_id
  FROM message_files f LEFT JOIN upload_files u ON u.id = f.upload_file_id
  WHERE f.message_id = ANY($1::uuid[]) ORDER BY f.created_at, f.ctid`;

async function readToolFiles(source: DifySource, files: readonly FileRow[]): Promise<ReadonlyMap<string, ToolFile>> {
  const ids = new Set(files.flatMap((file) => toolFileId(file) ?? []));
  if (ids.size === 0 || !source.has('tool_files')) return new Map();
  const rows = await source.query<ToolFile>(
    `SELECT f.id, f.tenant_id AS workspace_id, f.mimetype, ${columns(source, 'tool_files', 'f', ['name', 'size'])}
     FROM tool_files f WHERE f.id = ANY($1::uuid[])`,
    [[...ids]],
  );
  return new Map(rows.map((row) => [row.id, row]));
}

const selectThoughts = (source: DifySource): string => `
  SELECT t.id, t.message_id, t.message_chain_id AS chain_id, t.position, t.thought, t.tool, t.tool_input, t.observation,
    ${source.has('message_agent_thoughts', 'tool_labels_str') ? 't.tool_labels_str' : 'NULL'} AS tool_labels,
    ${source.has('message_agent_thoughts', 'message_files') ? 't.message_files' : 'NULL'} AS files,
    ${epoch('t.created_at')} AS created_at
  FROM message_agent_thoughts t
  WHERE t.message_id = ANY($1::uuid[]) ORDER BY t.position, t.created_at, t.id`;

const selectForms = `
  SELECT e.message_id, e.workflow_run_id, e.type, f.id AS form_id, f.node_id, f.form_definition, f.rendered_content,
    (f.submitted_at IS NOT NULL OR f.status IS NOT DISTINCT FROM 'submitted') AS is_submitted,
    ${epoch('f.expiration_time')} AS expiration_time, f.selected_action_id, f.submitted_data
  FROM execution_extra_contents e LEFT JOIN human_input_forms f ON f.id = e.form_id
  WHERE e.message_id = ANY($1::uuid[]) ORDER BY e.created_at, e.id`;

/** The newest one of the end user; `admin` is feedback of the console. */
const selectFeedback = (source: DifySource): string => `
  SELECT DISTINCT ON (f.message_id) f.message_id, f.rating, ${columns(source, 'message_feedbacks', 'f', ['content'])}
  FROM message_feedbacks f WHERE f.message_id = ANY($1::uuid[]) AND f.from_source = 'user'
  ORDER BY f.message_id, f.created_at DESC, f.id DESC`;

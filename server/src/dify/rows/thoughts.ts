import { asText, type OpenObject } from '../map/json.ts';
import type { PartsOf, RecordMapper } from '../map/record-mapper.ts';
import { type DifySource, epoch, type PartRow } from '../source.ts';
import { columns, readParts } from './selection.ts';

export async function readThoughts(source: DifySource, messageIds: readonly string[]): Promise<PartsOf> {
  const thoughts = await readParts(source, ['message_agent_thoughts'], selectThoughts(source), messageIds);
  return ({ id }, mapper) => mapThoughts(mapper, thoughts.get(id));
}

const selectThoughts = (source: DifySource): string => `
  SELECT t.id, t.message_id, t.message_chain_id AS chain_id, t.position, t.thought, t.tool, t.tool_input, t.observation,
    ${columns(source, 'message_agent_thoughts', 't', ['tool_labels_str', 'message_files'])},
    ${epoch('t.created_at')} AS created_at
  FROM message_agent_thoughts t
  WHERE t.message_id = ANY($1::uuid[]) ORDER BY t.position, t.created_at, t.id`;

export const mapThoughts = (mapper: RecordMapper, rows: readonly PartRow[] | undefined): OpenObject[] =>
  mapper.parts('agent_thoughts', rows, (row, path) => {
    const files = mapper.list(row.message_files, `${path}.files`) ?? [];
    return {
      id: row.id,
      chain_id: row.chain_id,
      message_id: row.message_id,
      position: row.position,
      thought: mapper.text(row.thought),
      tool: row.tool ?? '',
      tool_labels: mapper.object(row.tool_labels_str, `${path}.tool_labels`) ?? {},
      tool_input: mapper.text(row.tool_input),
      observation: mapper.text(row.observation),
      files: files.flatMap((file, index) => asText(file) ?? mapper.skip(`${path}.files[${index}]`, 'wrong type') ?? []),
      created_at: row.created_at,
    };
  });

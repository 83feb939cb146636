import { asText, type OpenObject } from './json.ts';
import type { RecordMapper } from './record-mapper.ts';

/** A row of `message_agent_thoughts`. */
export type ThoughtRow = {
  id: string;
  message_id: string;
  chain_id: string | null;
  position: number;
  thought: string | null;
  tool: string | null;
  tool_labels: string | null;
  tool_input: string | null;
  observation: string | null;
  files: string | null;
  created_at: number;
};

export function mapThought(mapper: RecordMapper, row: ThoughtRow, path: string): OpenObject {
  const text = (value: string | null): string => mapper.text(value ?? '');
  const files = mapper.list(row.files, `${path}.files`) ?? [];
  return {
    id: row.id,
    chain_id: row.chain_id,
    message_id: row.message_id,
    position: row.position,
    thought: text(row.thought),
    tool: row.tool ?? '',
    tool_labels: mapper.object(row.tool_labels, `${path}.tool_labels`) ?? {},
    tool_input: text(row.tool_input),
    observation: text(row.observation),
    files: files.flatMap((file, index) => {
      const id = asText(file);
      if (id === undefined) mapper.skip(`${path}.files[${index}]`, 'wrong type');
      return id ?? [];
    }),
    created_at: row.created_at,
  };
}

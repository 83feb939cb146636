import { useEffect, useRef, useState } from 'preact/hooks';
import { limits } from '../../../server/src/contract/limits.ts';
import { Button, Icon } from '../../shared/controls.tsx';
import { offer } from '../components/download.tsx';
import { count, ErrorNote } from '../components/ui.tsx';
import { type ApiError, pathOf, request } from '../state/api.ts';
import { timeText, zone } from '../state/times.ts';
import type { ConversationSummary, Message, MessagePage } from '../state/types.ts';

const line = (record: object): string => `${JSON.stringify(record)}\n`;

/** The lines of JSON are records, for `backscroll import`. */
const formats = {
  Markdown: { extension: 'md', type: 'text/markdown', head: markdownHead, text: markdownOf },
  'JSON lines': {
    extension: 'ndjson',
    type: 'application/x-ndjson',
    head: ({ id, app_id, user, name, created_at }: ConversationSummary) =>
      line({ record: 'conversation', id, app_id, user, name, created_at }),
    text: (message: Message) => line({ record: 'message', ...message }),
  },
} as const;
type Format = keyof typeof formats;

/** Saves all messages of a conversation as a file, oldest first. */
export function Export({ summary, path }: { summary: ConversationSummary; path: readonly string[] }) {
  const [done, setDone] = useState<number>();
  const [error, setError] = useState<ApiError>();
  const reading = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => reading.current?.abort(), []);
  const save = async (format: Format) => {
    const { signal } = (reading.current = new AbortController());
    setError(undefined);
    try {
      const { extension, type, head, text } = formats[format];
      const parts = await readAll(path, signal, text, setDone);
      offer(new Blob([head(summary), ...parts], { type }), `conversation-${summary.id}.${extension}`);
    } catch (error) {
      if (!signal.aborted) setError(error as ApiError);
    }
    setDone(undefined);
  };
  return (
    <div class="row tight" role="group" aria-label="Export">
      <h3 class="whole-row">Export</h3>
      {done === undefined ? (
        (Object.keys(formats) as Format[]).map((format) => (
          <Button aria-label={`Export as ${format}`} onClick={() => void save(format)}>
            <Icon name="download" />
            {format}
          </Button>
        ))
      ) : (
        <>
          <span role="status">
            {count(done)} of {count(summary.message_count)} messages
          </span>
          <progress value={done} max={Math.max(summary.message_count, 1)} aria-label="Export" />
          <Button onClick={() => reading.current?.abort()}>Cancel</Button>
        </>
      )}
      <ErrorNote error={error} />
    </div>
  );
}

/** The texts of all messages, a part for each page. Pages go back in time, so each goes before the ones that were read. */
async function readAll(
  path: readonly string[],
  signal: AbortSignal,
  textOf: (message: Message) => string,
  setDone: (count: number) => void,
): Promise<string[]> {
  const parts: string[] = [];
  let first_id: string | undefined;
  for (let done = 0; ; ) {
    setDone(done);
    const query = { first_id, limit: limits.pageMessagesMax, page_order: 'oldest_first' };
    const { body } = await request<MessagePage>(pathOf([...path, 'messages'], query), { signal });
    parts.push(body.data.map(textOf).join(''));
    done += body.data.length;
    first_id = body.data[0]?.id;
    if (!body.has_more) return parts.toReversed();
  }
}

function markdownHead({ name, user, app_name, id }: ConversationSummary): string {
  return `# ${name}\n\n- App: ${app_name}\n- User: ${user ?? 'none'}\n- Conversation: ${id}\n- Times: ${zone}\n\n`;
}

function markdownOf({ query, answer, created_at, feedback, error, id, ...rest }: Message): string {
  const about = [timeText(created_at), feedback && `${feedback.rating}d`, error !== null && 'failed', `message ${id}`];
  const files = rest.message_files.map(({ filename }) => `- File: ${filename}\n`).join('');
  const citations = rest.retriever_resources
    .map(
      ({ document_name, dataset_name, segment_position }) =>
        `- Cites: ${document_name} (${dataset_name}), segment ${segment_position}\n`,
    )
    .join('');
  const failure = error === null ? '' : `> Error: ${error.replaceAll('\n', '\n> ')}\n\n`;
  return `## ${about.filter(Boolean).join(' · ')}\n\n**Query**\n\n${query}\n\n${files}${files && '\n'}**Answer**\n\n${answer}\n\n${citations}${citations && '\n'}${failure}`;
}

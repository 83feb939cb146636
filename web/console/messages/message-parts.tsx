import type { ComponentChild } from 'preact';
import { Button, Fold, Icon, OutLink, Terms, useOpen } from '../../shared/controls.tsx';
import { prettyJson } from '../../shared/pretty-json.ts';
import { Bar, count, counted, duration } from '../components/ui.tsx';
import { CitedText } from '../knowledge/cited-text.tsx';
import { hrefWith, readRoute } from '../state/route.ts';
import { locale } from '../state/times.ts';
import type { AgentThought, MessageFile, RetrieverResource } from '../state/types.ts';
import { causeOf } from './error-cause.ts';
import { Markdown, Pre, safeAddress } from './markdown.tsx';

/** Why there is no answer: the innermost message first. What a provider wrapped around it is collapsed. */
export function MessageError({ id, error }: { id: string; error: string | null }) {
  const text = error ?? 'no reason was recorded.';
  const cause = causeOf(text);
  return (
    <div class="note bad stack">
      <p class="as-written">
        <Icon name="failed" />
        <strong> Error: </strong>
        {cause}
      </p>
      {cause !== text && (
        <Fold class="collapsible small" id={`${id} error`} title="Full error">
          <p class="as-written">{text}</p>
        </Fold>
      )}
    </div>
  );
}

const sizes = ['B', 'KB', 'MB', 'GB', 'TB'] as const;

function sizeOf(bytes: number): string {
  const step = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), sizes.length - 1);
  return `${(bytes / 1000 ** step).toLocaleString(locale, { maximumFractionDigits: step > 0 ? 1 : 0 })} ${sizes[step]}`;
}

/** Pictures are not loaded, because that would tell their owner who reads the conversation. They are links. */
export function Files({ files }: { files: readonly MessageFile[] }) {
  if (files.length === 0) return null;
  return (
    <ul class="files plain row tight" aria-label="Files">
      {files.map(({ id, filename, type, mime_type, size, url, transfer_method }) => {
        const href = url === null ? undefined : safeAddress(url);
        const about = [mime_type ?? type, size !== null && sizeOf(size)].filter(Boolean).join(', ');
        return (
          <li key={id} class="row tight card small" title={transfer_method}>
            <Icon name="file" />
            {href === undefined ? <span>{filename}</span> : <OutLink href={href}>{filename}</OutLink>}
            <span class="soft">{about}</span>
          </li>
        );
      })}
    </ul>
  );
}

/** What an answer cites. `href`: its address, to which the document leads back. */
export const Citations = ({ resources, href }: { resources: readonly RetrieverResource[]; href: string }) =>
  resources.length > 0 && (
    <div class="stack tight">
      {inOrder(resources).map((resource) => (
        <Citation key={resource.id} resource={resource} href={href} />
      ))}
    </div>
  );

const inOrder = <T extends { position: number }>(rows: readonly T[]): T[] =>
  rows.toSorted((one, other) => one.position - other.position);

function Citation({ resource, href: answer }: { resource: RetrieverResource; href: string }) {
  const { dataset_name, document_name, score, content, summary, segment_position, word_count, hit_count } = resource;
  const scoreText = score.toLocaleString(locale, { maximumFractionDigits: 3 });
  const about = <span class="soft">{`${dataset_name} · score ${scoreText}`}</span>;
  const title = [<strong>{document_name}</strong>, <br />, about];
  const [, ...place] = readRoute(answer);
  const segment = ['knowledge', resource.dataset_id, resource.document_id, resource.segment_id];
  const href = hrefWith(segment, { cited_by: place.join('/') });
  // The name says which of the links this is.
  const label = `Open in Knowledge: ${document_name}, segment ${segment_position}`;
  return (
    <div class="citation row small">
      <Fold class="collapsible small" id={resource.id} title={title}>
        {summary && <p>{summary}</p>}
        <blockquote class="as-written">{content}</blockquote>
        <p class="soft">
          segment {segment_position}, {counted(word_count, 'word')}, {counted(hit_count, 'hit')},{' '}
          {resource.data_source_type}, ID <code>{resource.segment_id}</code>
        </p>
        <CitedText resource={resource} />
      </Fold>
      <a class="soft" href={href} title="Open in Knowledge" aria-label={label}>
        Open
      </a>
    </div>
  );
}

/** The steps of an agent: its thoughts and tool calls. */
export function Steps({ thoughts, id }: { thoughts: readonly AgentThought[]; id: string }) {
  if (thoughts.length === 0) return null;
  const tools = [...new Set(thoughts.flatMap(toolsOf))].join(', ');
  const steps = inOrder(thoughts);
  /** How long a step took: until the next one began. That of the last step is not known. */
  const seconds = steps.map(({ created_at }, at) =>
    Math.max(0, (steps[at + 1]?.created_at ?? created_at) - created_at),
  );
  const title = [counted(thoughts.length, 'step'), tools !== '' && <span class="soft"> {tools}</span>];
  return (
    <Fold class="collapsible small" id={`${id} steps`} title={title}>
      <ol class="steps stack">
        {steps.map((thought, at) => (
          <Step key={thought.id} thought={thought} seconds={seconds[at] ?? 0} most={Math.max(...seconds)} />
        ))}
      </ol>
    </Fold>
  );
}

function Step({ thought, seconds, most }: { thought: AgentThought; seconds: number; most: number }) {
  const tools = toolsOf(thought).join(', ');
  return (
    <li>
      {seconds > 0 && (
        <p class="soft tabular">
          {duration(seconds)}
          <Bar part={seconds} of={most} />
        </p>
      )}
      {thought.thought !== '' && <p class="as-written">{thought.thought}</p>}
      {tools !== '' && (
        <p>
          <span class="soft">Tool: </span>
          <strong>{tools}</strong>
        </p>
      )}
      {thought.tool_input !== '' && thought.tool_input !== '{}' && <Raw title="Input" text={thought.tool_input} />}
      {thought.observation !== '' && <Raw title="Observation" text={thought.observation} />}
      {thought.files.length > 0 && <p class="soft">Files: {thought.files.join(', ')}</p>}
    </li>
  );
}

/** A tool's label, which may be given by language; else the tool's name. */
function toolsOf({ tool, tool_labels }: AgentThought): string[] {
  const names = tool.split(';').filter((name) => name.trim() !== '');
  return names.map((name) => {
    const label = tool_labels?.[name];
    const labelText = typeof label === 'object' && label !== null ? (label as Record<string, unknown>).en_US : label;
    return typeof labelText === 'string' && labelText !== '' ? labelText : name;
  });
}

function Raw({ title, text }: { title: string; text: string }) {
  return (
    <figure>
      <figcaption class="soft">{title}</figcaption>
      <Pre label={title}>{prettyJson(text)}</Pre>
    </figure>
  );
}

export const formatted = (text: string) => <Markdown text={text} />;

/** A value that may be any JSON, to read. */
export const textOf = (value: unknown, indent = 0): string =>
  typeof value === 'string' ? value : JSON.stringify(value, null, indent);

export function Values({ title, values, id }: { title: string; values: Record<string, unknown>; id: string }) {
  const entries = Object.entries(values);
  if (entries.length === 0) return null;
  const names = <span class="soft"> {entries.map(([name]) => name).join(', ')}</span>;
  return (
    <Fold class="collapsible small" id={id} title={[title, names]}>
      <Terms rows={entries.map(([name, value]) => [name, textOf(value, 2), 'as-written'])} />
    </Fold>
  );
}

/** A longer text is shown in full only on request: drawing megabytes would block the page. */
const unitsMax = 40_000;

/** A text; only its beginning if it is very long. */
export function Truncated({ id, text, draw }: { id: string; text: string; draw: (text: string) => ComponentChild }) {
  const [isFull, setFull] = useOpen(`all of ${id}`);
  if (isFull || text.length <= unitsMax) return draw(text);
  // Does not cut a surrogate pair.
  const end = text.codePointAt(unitsMax - 1) === text.charCodeAt(unitsMax - 1) ? unitsMax : unitsMax - 1;
  return (
    <div>
      {draw(text.slice(0, end))}
      <Button onClick={() => setFull(true)}>Show all {count(text.length)} characters</Button>
    </div>
  );
}

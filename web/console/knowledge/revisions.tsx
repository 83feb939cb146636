import { useEffect } from 'preact/hooks';
import { Button, Fold } from '../../shared/controls.tsx';
import { By } from '../activity/activity-table.tsx';
import { capital, ErrorNote, ListEnd, Time } from '../components/ui.tsx';
import { useList, useReading } from '../hooks/requests.ts';
import { readChunk } from '../state/drafts.ts';
import { hrefWith, useMayWrite } from '../state/route.ts';
import type { ChildChunk, ChildChunkRevision } from '../state/types.ts';
import { Diff } from './diff-view.tsx';

type RevisionsProps = {
  path: string;
  /** Gets the current chunk, which may have changed since it was listed. */
  update: (chunk: ChildChunk) => void;
  restore: (content: string) => void;
};

/** A text of the chunk. `written` has the key and the time of the change that brought it; undefined for the first text. */
type Version = { name: string; content: string; written: ChildChunkRevision | undefined };

/** The texts of a chunk, newest first, each with its author and compared with the text before it. */
export function Revisions({ path, update, restore }: RevisionsProps) {
  const list = useList<ChildChunkRevision>(`${path}/revisions`);
  const { body: current, error, reload } = useReading(path, async () => (await readChunk(path)).chunk);
  useEffect(() => current && update(current), [current]);
  if (error !== undefined) return <ErrorNote error={error} retry={reload} />;
  const isReady = current !== undefined && !(list.isLoading && list.rows.length === 0) && list.error === undefined;
  const versions = isReady ? versionsOf(current, list.rows) : [];
  // The row after the last one, which is not loaded yet, has its author.
  const shown = list.hasMore ? versions.slice(0, -1) : versions;
  return (
    <section class="stack" aria-label="History">
      {shown.map((version, at) => (
        <VersionEntry
          key={version.name}
          version={version}
          before={versions[at + 1]}
          current={current as ChildChunk}
          restore={restore}
        />
      ))}
      <ListEnd list={list} nothing="This text has never been changed." />
    </section>
  );
}

/** A revision is a replaced text, with the key that replaced it: the author of the version after it. */
function versionsOf(current: ChildChunk, revisions: readonly ChildChunkRevision[]): Version[] {
  const texts = [
    { name: 'current text', content: current.content },
    ...revisions.map(({ revision, content }) => ({ name: `revision ${revision}`, content })),
  ];
  return texts.map((text, at) => ({ ...text, written: revisions[at] }));
}

type EntryProps = {
  version: Version;
  before: Version | undefined;
  current: ChildChunk;
  restore: (text: string) => void;
};

function VersionEntry({ version: { name, content, written }, before, current, restore }: EntryProps) {
  const mayWrite = useMayWrite('updateChildChunkAsAdmin');
  const isCurrent = name === 'current text';
  const isSame = content === current.content;
  const by = written === undefined ? ', the first text' : [' by ', <By entry={written} isText none="an import" />];
  const title = (
    <>
      <b>{capital(name)}</b>
      <span class="soft">
        {' '}
        written <Time at={written?.replaced_at ?? current.created_at} />
        {by}
      </span>
    </>
  );
  return (
    <Fold class="revision" isOpen={isCurrent && before !== undefined} title={title}>
      <div class="stack">
        {before === undefined ? (
          <div class="as-written boxed" tabIndex={0} role="group" aria-label="The first text">
            {content}
          </div>
        ) : (
          <Diff
            before={before.content}
            after={content}
            label={`From ${before.name} to ${isCurrent ? 'the ' : ''}${name}`}
          />
        )}
        {written?.review_message_id && (
          <p class="small">
            Changed during the{' '}
            <a href={hrefWith(['review'], { state: 'all', at: written.review_message_id })}>review of an answer</a>
          </p>
        )}
        {!isCurrent && mayWrite && (
          <div class="row">
            <Button disabled={isSame} onClick={() => restore(content)}>
              Restore {name}
            </Button>
            {isSame && <span class="soft">It is the current text.</span>}
          </div>
        )}
      </div>
    </Fold>
  );
}

import { useId, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { countWords } from '../../../server/src/domain/records/count-words.ts';
import { Button, Status } from '../../shared/controls.tsx';
import { count, counted, ErrorNote, Time } from '../components/ui.tsx';
import { useSettled } from '../hooks/use-settled.ts';
import { type Draft, discardDraft, type Replaced } from '../state/drafts.ts';
import type { ChildChunk } from '../state/types.ts';
import { problemOf, readFromField, shownInField, unitsMax } from './chunk-text.ts';
import { Diff } from './diff-view.tsx';
import { useChunkEdit } from './use-chunk-edit.ts';

type EditorProps = {
  path: string;
  /** The text to start with: an earlier revision to restore. */
  restored: string | undefined;
  /** With the latest known version of the chunk, a message about it, and what a save has replaced. */
  close: (chunk?: ChildChunk, message?: string, replaced?: Replaced) => void;
};

/** Edits a chunk in its place: edit, review, save. Escape goes one step back, Ctrl or Cmd with Enter one step forward. */
export function ChunkEditor({ path, restored, close }: EditorProps) {
  const { draft, step, error, isBusy, read, write, go, save } = useChunkEdit(path, restored, (replaced) =>
    close(replaced.saved.chunk, 'Saved.', replaced),
  );
  const section = useRef<HTMLElement>(null);
  const isLoaded = draft !== undefined;
  // Before the step is painted, so that no key press is lost.
  useLayoutEffect(() => {
    if (isLoaded) (section.current?.querySelector('textarea') ?? section.current)?.focus();
  }, [step.name, isLoaded]);

  const cancel = () => {
    const isChanged = draft !== undefined && draft.text !== draft.base.chunk.content;
    if (isChanged && !confirm('Discard the unsaved text?')) return;
    discardDraft(path);
    close(draft?.base.chunk);
  };
  if (draft === undefined)
    return (
      <div class="stack">
        {error === undefined ? <Status>Loading…</Status> : <ErrorNote error={error} retry={read} />}
        <div class="row">
          <Button onClick={cancel}>Cancel</Button>
        </div>
      </div>
    );

  const { base, text } = draft;
  const canContinue = !isBusy && text !== base.chunk.content && problemOf(text) === undefined;
  const back = () => {
    if (step.name === 'conflict') editOnTop(step.theirs);
    else if (step.name === 'review') go('edit');
    else cancel();
  };
  const forward = () => {
    if (!canContinue || step.name === 'conflict') return;
    if (step.name === 'edit') go('review');
    // `save` shows its error.
    else void save(base);
  };
  const editOnTop = (theirs: Draft['base']) => {
    write({ base: theirs, text });
    go('edit');
  };
  const discardMine = (theirs: Draft['base']) => {
    discardDraft(path);
    close(theirs.chunk, 'Your text was discarded.');
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const isForward = event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !event.repeat;
    if ((!isForward && event.key !== 'Escape') || event.isComposing || isBusy) return;
    event.preventDefault();
    if (isForward) forward();
    else back();
  };
  const theirs = step.name === 'conflict' ? step.theirs : base;
  const choices: Record<typeof step.name, readonly Choice[]> = {
    edit: [
      ['Review', forward, 'primary', !canContinue],
      ['Cancel', back],
    ],
    review: [
      [isBusy ? 'Saving…' : 'Save', forward, 'primary', !canContinue],
      ['Edit again', back],
      ['Cancel', cancel, 'quiet'],
    ],
    conflict: [
      ['Edit mine on top of theirs', () => editOnTop(theirs), 'primary'],
      ['Discard mine', () => discardMine(theirs)],
      ['Save mine over theirs', () => void save(theirs), 'danger'],
    ],
  };
  return (
    <section class="editor stack" ref={section} tabIndex={-1} aria-label={titles[step.name]} onKeyDown={onKeyDown}>
      {step.name === 'edit' && <TextField draft={draft} write={write} />}
      {step.name === 'review' && (
        <>
          <h3>{titles.review}</h3>
          <Diff before={base.chunk.content} after={text} label="Changes" />
        </>
      )}
      {step.name === 'conflict' && <Conflict theirs={theirs.chunk} mine={text} />}
      <ErrorNote error={error} />
      <div class="row">
        {choices[step.name].map(([label, act, look, isDisabled = isBusy], n) => (
          <Button key={`${step.name} ${n}`} class={look} disabled={isDisabled} onClick={act}>
            {label}
          </Button>
        ))}
      </div>
    </section>
  );
}

/** What can be done in a step; disabled while a request runs, if nothing else is said. */
type Choice = readonly [label: string, act: () => void, look?: string, isDisabled?: boolean];

const titles = { edit: 'Edit the text', review: 'Review the change', conflict: 'Conflict' };

/** The text field, with the counts that the service uses. */
function TextField({ draft: { base, text }, write }: { draft: Draft; write: (draft: Draft) => void }) {
  const id = useId();
  const settled = useSettled(text);
  const counting = isLong(text) ? settled : text;
  const words = useMemo(() => countWords(counting), [counting]);
  const left = unitsMax - text.length;
  const problem = text === base.chunk.content ? undefined : problemOf(text);
  return (
    <>
      <label>
        Text
        <textarea
          rows={8}
          class={isLong(text) ? 'long' : undefined}
          value={shownInField(text)}
          aria-describedby={id}
          onInput={({ currentTarget }: { currentTarget: HTMLTextAreaElement }) =>
            write({ base, text: readFromField(currentTarget.value, base.chunk.content) })
          }
        />
      </label>
      <div class="row soft" id={id}>
        <span class="words">{counted(words, 'word')}</span>
        <span class="left">{left < 0 ? `${count(-left)} characters too many` : `${count(left)} characters left`}</span>
        <span class="keys at-end">Ctrl+Enter reviews, Escape cancels</span>
      </div>
      {problem !== undefined && (
        <p class="note warn" role="alert">
          {problem}
        </p>
      )}
    </>
  );
}

/** Too long to count its words at every key press: they are counted when typing pauses. */
const isLong = (text: string): boolean => text.length > 20_000;

/** Another edit was saved since the text was read: both texts and their difference. Nothing was overwritten. */
function Conflict({ theirs, mine }: { theirs: ChildChunk; mine: string }) {
  return (
    <>
      <div class="note warn" role="alert">
        <h3>This chunk was changed while you were editing</h3>
        <p>
          Another edit was saved <Time at={theirs.updated_at} />. Your text is not saved yet.
        </p>
      </div>
      <div class="pair">
        <Text title="The saved text" text={theirs.content} />
        <Text title="Your text" text={mine} />
      </div>
      <Diff before={theirs.content} after={mine} label="From the saved text to yours" />
    </>
  );
}

function Text({ title, text }: { title: string; text: string }) {
  return (
    <div class="stack">
      <h4>{title}</h4>
      <div class="as-written boxed" role="group" tabIndex={0} aria-label={title}>
        {text}
      </div>
    </div>
  );
}

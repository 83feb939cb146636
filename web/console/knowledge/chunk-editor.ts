import { h, useEffect, useId, useRef, useState } from '../../shared/dom.ts';
import { type Draft, discardDraft } from '../parts/drafts.ts';
import { countWords } from '../parts/server-rules.ts';
import type { ChildChunk } from '../parts/types.ts';
import { count, counted, ErrorNote } from '../parts/ui.ts';
import { problemOf, readFromField, shownInField, unitsMax } from './chunk-text.ts';
import { Conflict } from './conflict.ts';
import { Diff } from './diff-view.ts';
import { useChunkEdit } from './use-chunk-edit.ts';

type EditorProps = {
  path: string;
  /** A text to begin with: an earlier one that is to be restored. */
  restored: string | undefined;
  /** With the chunk as it was last seen, and what is to be said of it. */
  close: (chunk?: ChildChunk, said?: string) => void;
};

/** Edits a chunk in its place: write, review, save. Escape goes a step back, Ctrl or Cmd and Enter a step on. */
export function ChunkEditor({ path, restored, close }: EditorProps) {
  const { draft, step, error, isBusy, read, write, go, save } = useChunkEdit(path, restored, (chunk) =>
    close(chunk, 'Saved.'),
  );
  const section = useRef<HTMLElement>(null);
  const isRead = draft !== undefined;
  useEffect(() => {
    if (isRead) (section.current?.querySelector('textarea') ?? section.current)?.focus();
  }, [step.name, isRead]);

  const cancel = () => {
    const isChanged = draft !== undefined && draft.text !== draft.base.chunk.content;
    if (isChanged && !confirm('Discard the text that you have not saved?')) return;
    discardDraft(path);
    close(draft?.base.chunk);
  };
  if (draft === undefined)
    return h(
      'div',
      { class: 'stack' },
      error === undefined
        ? h('p', { class: 'soft', role: 'status' }, 'Loading…')
        : h(ErrorNote, { error, retry: read }),
      h('div', { class: 'row' }, h('button', { type: 'button', onClick: cancel }, 'Cancel')),
    );

  const { base, text } = draft;
  const mayGoOn = !isBusy && text !== base.chunk.content && problemOf(text) === undefined;
  const back = () => {
    if (step.name === 'conflict') editOver(step.theirs);
    else if (step.name === 'review') go('edit');
    else cancel();
  };
  const on = () => {
    if (!mayGoOn || step.name === 'conflict') return;
    if (step.name === 'edit') go('review');
    else save(base);
  };
  const editOver = (theirs: Draft['base']) => {
    write({ base: theirs, text });
    go('edit');
  };
  const takeTheirs = (theirs: Draft['base']) => {
    discardDraft(path);
    close(theirs.chunk, 'Theirs was kept.');
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const isOn = event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !event.repeat;
    if ((!isOn && event.key !== 'Escape') || event.isComposing || isBusy) return;
    event.preventDefault();
    if (isOn) on();
    else back();
  };
  return h(
    'section',
    { class: 'editor stack', ref: section, tabIndex: -1, 'aria-label': titles[step.name], onKeyDown },
    step.name === 'edit' && h(Writing, { draft, write }),
    step.name === 'review' && [
      h('h3', null, titles.review),
      h(Diff, { before: base.chunk.content, after: text, label: 'What changes' }),
    ],
    step.name === 'conflict' && h(Conflict, { theirs: step.theirs.chunk, mine: text }),
    h(ErrorNote, { error }),
    h(
      'div',
      { class: 'row' },
      step.name === 'edit' && [
        h('button', { type: 'button', class: 'primary', disabled: !mayGoOn, onClick: on }, 'Review'),
        h('button', { type: 'button', onClick: back }, 'Cancel'),
      ],
      step.name === 'review' && [
        h('button', { type: 'button', class: 'primary', disabled: !mayGoOn, onClick: on }, isBusy ? 'Saving…' : 'Save'),
        h('button', { type: 'button', disabled: isBusy, onClick: back }, 'Edit again'),
        h('button', { type: 'button', class: 'quiet', disabled: isBusy, onClick: cancel }, 'Cancel'),
      ],
      step.name === 'conflict' && [
        h(
          'button',
          { type: 'button', class: 'primary', disabled: isBusy, onClick: () => editOver(step.theirs) },
          'Edit mine on top of theirs',
        ),
        h('button', { type: 'button', disabled: isBusy, onClick: () => takeTheirs(step.theirs) }, 'Take theirs'),
        h(
          'button',
          { type: 'button', class: 'danger', disabled: isBusy, onClick: () => save(step.theirs) },
          'Save mine over theirs',
        ),
      ],
    ),
  );
}

const titles = { edit: 'Edit the text', review: 'Review the change', conflict: 'Conflict' };

/** The field, with what the service will count. */
function Writing({ draft: { base, text }, write }: { draft: Draft; write: (draft: Draft) => void }) {
  const id = useId();
  const words = useWordCount(text);
  const left = unitsMax - text.length;
  const isChanged = text !== base.chunk.content;
  return [
    h(
      'label',
      null,
      'Text',
      h('textarea', {
        rows: 8,
        class: isLong(text) ? 'long' : undefined,
        value: shownInField(text),
        'aria-describedby': id,
        onInput: ({ currentTarget }: { currentTarget: HTMLTextAreaElement }) =>
          write({ base, text: readFromField(currentTarget.value, base.chunk.content) }),
      }),
    ),
    h(
      'div',
      { class: 'row soft', id },
      h('span', { class: 'words' }, counted(words, 'word')),
      h('span', { class: 'left' }, left < 0 ? `${count(-left)} characters too many` : `${count(left)} characters left`),
      h('span', { class: 'keys' }, 'Ctrl+Enter reviews, Escape cancels'),
    ),
    isChanged && h(Problem, { text }),
  ];
}

function Problem({ text }: { text: string }) {
  const problem = problemOf(text);
  return problem === undefined ? null : h('p', { class: 'note warn', role: 'alert' }, problem);
}

/** So long that typing would wait for what is done with every key. */
const isLong = (text: string): boolean => text.length > 20_000;

/** Counted at once, but for a long text: that once typing pauses. */
function useWordCount(text: string): number {
  const [words, setWords] = useState(() => countWords(text));
  useEffect(() => {
    if (!isLong(text)) return undefined;
    const timer = setTimeout(() => setWords(countWords(text)), 200);
    return () => clearTimeout(timer);
  }, [text]);
  return isLong(text) ? words : countWords(text);
}

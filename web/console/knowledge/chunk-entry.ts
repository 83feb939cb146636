import { el, h, useLayoutEffect, useRef, useState } from '../../shared/dom.ts';
import { counted, Time } from '../components/ui.ts';
import { draftOf } from '../state/drafts.ts';
import { useMayWrite } from '../state/session.ts';
import type { ChildChunk } from '../state/types.ts';
import { ChunkEditor } from './chunk-editor.ts';
import { Revisions } from './revisions.ts';

type Mode = { name: 'read' | 'history' } | { name: 'edit'; restored?: string };

type Props = { path: string; listed: ChildChunk; isTarget: boolean; saved: () => void };

/** One chunk: its text, which can be edited in its place, and its history. */
export function ChunkEntry({ path, listed, isTarget, saved }: Props) {
  const [chunk, setChunk] = useState(listed);
  // Continues with a draft that was open when a session ended.
  const [mode, setMode] = useState<Mode>(() => (draftOf(path) === undefined ? { name: 'read' } : { name: 'edit' }));
  const [message, setMessage] = useState('');
  const mayWrite = useMayWrite();
  const edit = useRef<HTMLButtonElement>(null);
  const wasEditing = useRef(false);
  useLayoutEffect(() => {
    if (wasEditing.current && mode.name === 'read') edit.current?.focus();
    wasEditing.current = mode.name === 'edit';
  }, [mode.name]);

  const open = (mode: Mode) => {
    setMessage('');
    setMode(mode);
  };
  const close = (latest = chunk, message = '') => {
    setMode({ name: 'read' });
    if (latest !== chunk) saved();
    setChunk(latest);
    setMessage(message);
  };
  const isHistory = mode.name === 'history';
  const toggleHistory = () => open({ name: isHistory ? 'read' : 'history' });
  const named = (action: string) => ({
    class: 'quiet',
    type: 'button',
    'aria-label': `${action} chunk ${chunk.position}`,
  });
  return h(
    'li',
    { id: listed.id, tabIndex: -1, class: isTarget ? 'card stack chunk target' : 'card stack chunk' },
    el(
      'div.row',
      el('h3', `Chunk ${chunk.position}`),
      chunk.type === 'customized' && el('span.badge', chunk.type),
      el(
        'span.soft',
        `${counted(chunk.word_count, 'word')}, changed `,
        h(Time, { at: chunk.updated_at, form: 'brief' }),
      ),
      h('span', { class: 'good', role: 'status' }, message),
      mode.name !== 'edit' &&
        el(
          'div.row.actions.at-end',
          mayWrite && h('button', { ...named('Edit'), ref: edit, onClick: () => open({ name: 'edit' }) }, 'Edit'),
          h('button', { ...named('History of'), 'aria-expanded': isHistory, onClick: toggleHistory }, 'History'),
        ),
    ),
    mode.name === 'edit'
      ? h(ChunkEditor, { path, restored: mode.restored, close })
      : el('div.as-written', chunk.content),
    isHistory && h(Revisions, { path, update: setChunk, restore: (restored) => open({ name: 'edit', restored }) }),
  );
}

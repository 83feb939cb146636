import { useContext, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../shared/controls.tsx';
import { counted, Dots, ErrorNote, Time } from '../components/ui.tsx';
import { useAttempt } from '../hooks/requests.ts';
import { draftOf, type Replaced, saveChunk } from '../state/drafts.ts';
import { useMayWrite } from '../state/route.ts';
import type { ChildChunk } from '../state/types.ts';
import { ChunkEditor } from './chunk-editor.tsx';
import { Revisions } from './revisions.tsx';
import { ReviewedMessage } from './use-chunk-edit.ts';

type Mode = { name: 'read' | 'history' } | { name: 'edit'; restored?: string };

type ChunkProps = {
  path: string;
  listed: ChildChunk;
  isTarget: boolean;
  saved: () => void;
  /** It is opened to be edited. */
  isEdited?: boolean;
};

/** One chunk: its text, which can be edited in its place, and its history. */
export function ChunkEntry({ path, listed, isTarget, saved, isEdited = draftOf(path) !== undefined }: ChunkProps) {
  const mayWrite = useMayWrite('updateChildChunkAsAdmin');
  const [chunk, setChunk] = useState(listed);
  // Continues with a draft that was open when a session ended.
  const [mode, setMode] = useState<Mode>(isEdited && mayWrite ? { name: 'edit' } : { name: 'read' });
  const [message, setMessage] = useState('');
  const [replaced, setReplaced] = useState<Replaced>();
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
  const close = (latest = chunk, message = '', replaced?: Replaced) => {
    setMode({ name: 'read' });
    setReplaced(replaced);
    if (latest !== chunk) saved();
    setChunk(latest);
    setMessage(message);
  };
  const isHistory = mode.name === 'history';
  const toggleHistory = () => open({ name: isHistory ? 'read' : 'history' });
  const named = (action: string) => ({ class: 'quiet', 'aria-label': `${action} chunk ${chunk.position}` });
  return (
    <li id={listed.id} tabIndex={-1} class={isTarget ? 'card stack chunk target' : 'card stack chunk'}>
      <div class="row small">
        <h3>Chunk {chunk.position}</h3>
        {chunk.type === 'customized' && <span class="badge">{chunk.type}</span>}
        <span class="soft">
          <Dots>
            {counted(chunk.word_count, 'word')}
            <Time at={chunk.updated_at} form="brief" />
          </Dots>
        </span>
        <span class="good" role="status">
          {message}
        </span>
        {mode.name !== 'edit' && (
          <div class="row tight actions at-end">
            {mayWrite && (
              <Button {...named('Edit')} ref={edit} onClick={() => open({ name: 'edit' })}>
                Edit
              </Button>
            )}
            <Button {...named('History of')} aria-expanded={isHistory} onClick={toggleHistory}>
              History
            </Button>
          </div>
        )}
      </div>
      {mode.name === 'edit' ? (
        <ChunkEditor path={path} restored={mode.restored} close={close} />
      ) : (
        <div class="as-written">{chunk.content}</div>
      )}
      {replaced && (
        <Undo
          key={replaced.saved.etag}
          path={path}
          replaced={replaced}
          keep={() => setReplaced(undefined)}
          close={close}
        />
      )}
      {isHistory && (
        <Revisions path={path} update={setChunk} restore={(restored) => open({ name: 'edit', restored })} />
      )}
    </li>
  );
}

/** How long the text before a save can be restored by one click. The history has it for ever. */
const undoMillis = 10_000;

type UndoProps = {
  path: string;
  replaced: Replaced;
  keep: () => void;
  close: (chunk: ChildChunk, message: string) => void;
};

function Undo({ path, replaced: { saved, before }, keep, close }: UndoProps) {
  const { error, isBusy, attempt } = useAttempt();
  const reviewed = useContext(ReviewedMessage);
  useEffect(() => {
    const timer = setTimeout(keep, undoMillis);
    return () => clearTimeout(timer);
  }, []);
  const restore = () =>
    attempt(async () => close((await saveChunk(path, before, saved, reviewed)).chunk, 'The earlier text is back.'));
  return (
    <div class="toast card row">
      The text was replaced.
      <Button disabled={isBusy} onClick={restore}>
        Undo
      </Button>
      <ErrorNote error={error} />
    </div>
  );
}

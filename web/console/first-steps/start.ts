import { type ComponentChildren, h, useState } from '../../shared/dom.ts';
import { Icon } from '../../shared/icon.ts';
import { Copyable } from '../components/copyable.ts';
import { Page } from '../components/page.ts';
import { ErrorNote } from '../components/ui.ts';
import { useAttempt } from '../hooks/use-attempt.ts';
import type { CursorPage } from '../hooks/use-list.ts';
import { useReading } from '../hooks/use-reading.ts';
import { curlOf } from '../keys/key-labels.ts';
import { request } from '../state/api.ts';
import { hrefOf } from '../state/route.ts';
import type { App, CreatedKey, Key } from '../state/types.ts';
import { firstRecords, sendCommand } from './commands.ts';
import { RecordsFile } from './records-file.ts';

/** Whether the user has opened the conversation since the page was loaded. */
let hasOpened = false;

/** Interval of requests that check whether a step is done. */
const refreshMillis = 2_000;

/** The first steps with an empty database. Each is ticked when the service has what it creates. */
export function StartView() {
  const { body: found, error, reload: refresh } = useReading('first steps', readFound, refreshMillis);
  const [secrets, setSecrets] = useState<{ writer?: string; app?: string }>({});
  const [ids] = useState(() => ({ conversation: crypto.randomUUID(), message: crypto.randomUUID() }));
  const createKey = async (kind: 'writer' | 'app', app_id: string) => {
    const body = { kind, app_id, name: `first ${kind} key` };
    const created = await request<CreatedKey>('/admin/keys', { method: 'POST', body });
    setSecrets((secrets) => ({ ...secrets, [kind]: created.body.secret }));
    refresh();
  };
  if (found === undefined) return h(Page, { title: 'First steps' }, h(ErrorNote, { error, retry: refresh }));
  const { app, hasWriter, conversation, hasReader } = found;
  const open = () => {
    hasOpened = true;
  };
  const href = conversation && hrefOf('conversations', conversation.app_id, conversation.id);
  const isDone = [app !== undefined, hasWriter, href !== undefined, href !== undefined && (hasOpened || hasReader)];
  const next = isDone.indexOf(false);
  const step = (at: number, title: string, ...children: ComponentChildren[]) =>
    h(Step, { number: at + 1, title, isDone: isDone[at] === true }, children);
  return h(
    Page,
    { title: 'First steps' },
    h('p', { class: 'soft' }, 'From an empty database to the first message. The steps are ticked as you do them.'),
    h(ErrorNote, { error, retry: refresh }),
    h(
      'div',
      { class: 'pair' },
      h(
        'ol',
        { class: 'plain stack steps-to-do' },
        step(0, app ? `Create an app: ${app.name}` : 'Create an app', next === 0 && h(NewApp, { created: refresh })),
        step(
          1,
          'Create a writer key',
          secrets.writer !== undefined
            ? h(Copyable, { label: 'Secret, shown only here', text: secrets.writer })
            : next === 1 &&
                app && [
                  h('p', { class: 'soft' }, 'Your chat back end sends messages with it.'),
                  h(Action, { label: 'Create a writer key', isPrimary: true, run: () => createKey('writer', app.id) }),
                ],
        ),
        step(
          2,
          'Send the first message',
          next === 2 &&
            app &&
            h(Copyable, {
              label: 'In a terminal',
              text: sendCommand(location.origin, secrets.writer ?? '$WRITER_KEY', firstRecords(app.id, ids)),
            }),
        ),
        step(
          3,
          'Read it',
          conversation && [
            h('p', null, h('a', { class: 'button primary', href, onClick: open }, 'Open the conversation')),
            secrets.app !== undefined
              ? h(Copyable, {
                  label: 'Or in a terminal, with an app key',
                  text: curlOf('app', secrets.app, location.origin, conversation.id),
                })
              : h(Action, {
                  label: 'Create an app key to read it over HTTP',
                  run: () => createKey('app', conversation.app_id),
                }),
          ],
        ),
      ),
      h(RecordsFile, { imported: refresh }),
    ),
  );
}

async function readFound(signal: AbortSignal) {
  const rows = async <T>(path: string) => (await request<CursorPage<T>>(path, { signal })).body.data;
  const [[app], keys, [conversation]] = await Promise.all([
    rows<App>('/admin/apps?limit=1'),
    rows<Key>('/admin/keys?limit=100'),
    rows<{ id: string; app_id: string }>('/admin/conversations?limit=1'),
  ]);
  const hasWriter = keys.some(({ kind, revoked_at }) => kind === 'writer' && revoked_at === null);
  const hasReader = keys.some(({ kind, last_used_at }) => kind === 'app' && last_used_at !== null);
  return { app, hasWriter, conversation, hasReader };
}

type StepProps = { number: number; title: string; isDone: boolean; children?: ComponentChildren };

/** Only its heading, if there is nothing to do or to copy. */
const Step = ({ number, title, isDone, children }: StepProps) =>
  h(
    'li',
    { class: 'card stack' },
    h(
      'h2',
      null,
      h(
        'span',
        { class: isDone ? 'tick-mark good' : 'tick-mark soft' },
        isDone ? h(Icon, { name: 'check' }) : h('span', { 'aria-hidden': true }, number),
        h('span', { class: 'hidden-label' }, isDone ? 'done' : 'to do'),
        ' ',
      ),
      title,
    ),
    children,
  );

/** A button that sends a request, and shows its error. */
function Action({ label, isPrimary, run }: { label: string; isPrimary?: boolean; run: () => Promise<void> }) {
  const { error, isBusy, attempt } = useAttempt();
  return h(
    'div',
    { class: 'stack' },
    h(
      'p',
      null,
      h(
        'button',
        { type: 'button', class: isPrimary && 'primary', disabled: isBusy, onClick: () => attempt(run) },
        label,
      ),
    ),
    h(ErrorNote, { error }),
  );
}

function NewApp({ created }: { created: () => void }) {
  const { error, attempt } = useAttempt();
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget as HTMLFormElement).get('name') ?? '').trim();
    return attempt(() => request('/admin/apps', { method: 'POST', body: { name } }).then(created));
  };
  return h(
    'form',
    { class: 'stack', onSubmit: submit },
    h(
      'label',
      null,
      'Name of the app',
      h('input', { name: 'name', required: true, pattern: '.*\\S.*', autoComplete: 'off', placeholder: 'Help desk' }),
    ),
    h(ErrorNote, { error }),
    h('p', null, h('button', { class: 'primary' }, 'Create the app')),
  );
}

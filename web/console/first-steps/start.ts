import { button, type ComponentChildren, el, h, useEffect, useState } from '../../shared/dom.ts';
import { Icon } from '../../shared/icon.ts';
import { storeSetting } from '../../shared/settings.ts';
import { Copyable } from '../components/copyable.ts';
import { Page } from '../components/page.ts';
import { ErrorNote } from '../components/ui.ts';
import { useAttempt } from '../hooks/use-attempt.ts';
import type { CursorPage } from '../hooks/use-list.ts';
import { useReading } from '../hooks/use-reading.ts';
import { curlOf } from '../keys/key-labels.ts';
import { request } from '../state/api.ts';
import { hrefOf } from '../state/route.ts';
import { firstStepsPlace } from '../state/scope.ts';
import { useMayWrite } from '../state/session.ts';
import type { App, CreatedKey, Key } from '../state/types.ts';
import { firstRecords, type Language, languages, sendCommands } from './commands.ts';
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
  const mayWrite = useMayWrite();
  useEffect(() => {
    if (found !== undefined) storeSetting(firstStepsPlace, stepsDone(found).includes(false) ? 'open' : null);
  }, [found]);
  if (found === undefined) return h(Page, { title: 'First steps' }, h(ErrorNote, { error, retry: refresh }));
  const { app, conversation } = found;
  const open = () => {
    hasOpened = true;
  };
  const href = conversation && hrefOf('conversations', conversation.app_id, conversation.id);
  const isDone = stepsDone(found);
  const next = mayWrite ? isDone.indexOf(false) : -1;
  const step = (at: number, title: string, ...children: ComponentChildren[]) =>
    h(Step, { number: at + 1, title, isDone: isDone[at] === true, isNext: at === next }, children);
  return h(
    Page,
    { title: 'First steps' },
    !mayWrite && el('p.note', 'Your key is read-only: these steps need a key that can write.'),
    el('p.soft', 'From an empty database to the first message. The steps are ticked as you do them.'),
    h(ErrorNote, { error, retry: refresh }),
    el(
      'div.pair',
      el(
        'ol.plain.card.steps-to-do',
        step(0, app ? `Create an app: ${app.name}` : 'Create an app', next === 0 && h(NewApp, { created: refresh })),
        step(
          1,
          'Create a writer key',
          secrets.writer !== undefined
            ? h(Copyable, { label: 'Secret, shown only here', text: secrets.writer })
            : next === 1 &&
                app && [
                  el('p.soft', 'Your chat back end sends messages with it.'),
                  h(Action, { label: 'Create a writer key', isPrimary: true, run: () => createKey('writer', app.id) }),
                ],
        ),
        step(
          2,
          'Send the first message',
          next === 2 && app && h(Send, { secret: secrets.writer ?? '$WRITER_KEY', records: firstRecords(app.id, ids) }),
        ),
        step(
          3,
          'Read it',
          conversation && [
            el(
              'div.row',
              h('a', { class: 'button primary', href, onClick: open }, 'Open the conversation'),
              secrets.app === undefined &&
                mayWrite &&
                h(Action, {
                  label: 'Create an app key to read it over HTTP',
                  run: () => createKey('app', conversation.app_id),
                }),
            ),
            secrets.app !== undefined &&
              h(Copyable, {
                label: 'Or in a terminal, with an app key',
                text: curlOf('app', secrets.app, location.origin, conversation.id),
              }),
          ],
        ),
      ),
      mayWrite && h(RecordsFile, { imported: refresh }),
    ),
  );
}

type Found = Awaited<ReturnType<typeof readFound>>;

const stepsDone = ({ app, hasWriter, conversation, hasReader }: Found): boolean[] => [
  app !== undefined,
  hasWriter,
  conversation !== undefined,
  conversation !== undefined && (hasOpened || hasReader),
];

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

type StepProps = { number: number; title: string; isDone: boolean; isNext: boolean; children?: ComponentChildren };

/** Only its heading, if there is nothing to do or to copy. */
const Step = ({ number, title, isDone, isNext, children }: StepProps) =>
  h(
    'li',
    { class: 'stack', 'aria-current': isNext ? 'step' : undefined },
    el(
      'h2',
      h(
        'span',
        { class: isDone ? 'tick-mark good' : 'tick-mark soft' },
        isDone ? h(Icon, { name: 'check' }) : h('span', { 'aria-hidden': true }, number),
        el('span.hidden-label', isDone ? 'done' : 'to do'),
        ' ',
      ),
      title,
    ),
    children,
  );

/** The first request, in the language of the reader. */
function Send({ secret, records }: { secret: string; records: string }) {
  const [language, choose] = useState<Language>('curl');
  const text = sendCommands(location.origin, secret, records)[language];
  return [
    h(
      'div',
      { class: 'row', role: 'group', 'aria-label': 'Language' },
      languages.map((one) =>
        button({ key: one, class: 'chip', 'aria-pressed': one === language, onClick: () => choose(one) }, one),
      ),
    ),
    h(Copyable, { label: language === 'curl' ? 'In a terminal' : `In ${language}`, text }),
  ];
}

/** A button that sends a request, and shows its error. */
function Action({ label, isPrimary, run }: { label: string; isPrimary?: boolean; run: () => Promise<void> }) {
  const { error, isBusy, attempt } = useAttempt();
  return el(
    'div.stack',
    el('p', button({ class: isPrimary ? 'primary' : undefined, disabled: isBusy, onClick: () => attempt(run) }, label)),
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
    el(
      'label',
      'Name of the app',
      h('input', { name: 'name', required: true, pattern: '.*\\S.*', autoComplete: 'off', placeholder: 'Help desk' }),
    ),
    h(ErrorNote, { error }),
    el('p', el('button.primary', 'Create the app')),
  );
}

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { appendLine, clientLine } from '../../../server/src/contract/console/first-message.ts';
import { CodeBlock } from '../../shared/code-block.tsx';
import { Icon } from '../../shared/controls.tsx';
import { storeSetting } from '../../shared/stored.ts';
import { ActionForm, NameField, nameIn } from '../components/action-dialog.tsx';
import { ErrorNote, Page } from '../components/ui.tsx';
import { type CursorPage, useReading } from '../hooks/requests.ts';
import { curlOf } from '../keys/key-labels.ts';
import { request } from '../state/api.ts';
import { hrefOf, useMayWrite } from '../state/route.ts';
import { firstStepsPlace } from '../state/scope.ts';
import type { App, CreatedKey, Key } from '../state/types.ts';
import { RecordsFile } from './records-file.tsx';

/** Whether the user has opened the conversation since the page was loaded. */
let hasOpened = false;

/** Interval of requests that check whether a step is done. */
const refreshMillis = 2_000;

/** The first steps with an empty database. Each is ticked when the service has what it creates. */
export function View() {
  const { body: found, error, reload: refresh } = useReading('first steps', readFound, refreshMillis);
  const [secrets, setSecrets] = useState<{ writer?: string; app?: string }>({});
  const createKey = async (kind: 'writer' | 'app', app_id: string) => {
    const body = { kind, app_id, name: `first ${kind} key` };
    const created = await request<CreatedKey>('/admin/keys', { method: 'POST', body });
    setSecrets((secrets) => ({ ...secrets, [kind]: created.body.secret }));
    refresh();
  };
  const mayWrite = useMayWrite('createApp');
  useEffect(() => {
    if (found !== undefined) storeSetting(firstStepsPlace, stepsDone(found).includes(false) ? 'open' : null);
  }, [found]);
  if (found === undefined)
    return (
      <Page title="First steps">
        <ErrorNote error={error} retry={refresh} />
      </Page>
    );
  const { app, conversation } = found;
  const open = () => {
    hasOpened = true;
  };
  const isDone = stepsDone(found);
  const next = mayWrite ? isDone.indexOf(false) : -1;
  const step = (at: number) => ({ number: at + 1, isDone: isDone[at] === true, isNext: at === next });
  return (
    <Page title="First steps" meta={`${isDone.filter(Boolean).length} of ${isDone.length}`}>
      {!mayWrite && <p class="note">Your key is read-only: these steps need a key that can write.</p>}
      <p class="soft lead">From an empty database to the first message. The steps are ticked as you do them.</p>
      <ErrorNote error={error} retry={refresh} />
      <div class="pair">
        <ol class="plain card steps-to-do">
          <Step {...step(0)} title={app ? `Create an app: ${app.name}` : 'Create an app'}>
            {next === 0 && <NewApp created={refresh} />}
          </Step>
          <Step {...step(1)} title="Create a writer key">
            {secrets.writer !== undefined ? (
              <CodeBlock label="Secret, shown only here" text={secrets.writer} />
            ) : (
              next === 1 &&
              app && (
                <>
                  <p class="soft">Your chat back end sends messages with it.</p>
                  <ActionForm action="Create a writer key" run={() => createKey('writer', app.id)} />
                </>
              )
            )}
          </Step>
          <Step {...step(2)} title="Send the first message">
            {next === 2 && <Send secret={secrets.writer ?? '$WRITER_KEY'} />}
            {(next === 2 || (next === 3 && secrets.writer !== undefined)) && (
              <p class={next === 2 ? 'live stale' : 'live'} role="status">
                {next === 2 ? 'Listening for your message…' : 'Your message is here.'}
              </p>
            )}
          </Step>
          <Step {...step(3)} title="Read it">
            {conversation && (
              <>
                <div class="row">
                  <a
                    class="button primary"
                    href={hrefOf('conversations', conversation.app_id, conversation.id)}
                    onClick={open}
                  >
                    Open the conversation
                  </a>
                  {secrets.app === undefined && mayWrite && (
                    <ActionForm
                      action="Create an app key to read it over HTTP"
                      look=""
                      run={() => createKey('app', conversation.app_id)}
                    />
                  )}
                </div>
                {secrets.app !== undefined && (
                  <CodeBlock
                    label="Or in a terminal, with an app key"
                    text={curlOf('app', secrets.app, location.origin, conversation.id)}
                  />
                )}
              </>
            )}
          </Step>
        </ol>
        {mayWrite && <RecordsFile imported={refresh} />}
      </div>
    </Page>
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
  const rows = async <T,>(path: string) => (await request<CursorPage<T>>(path, { signal })).body.data;
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
const Step = ({ number, title, isDone, isNext, children }: StepProps) => (
  <li class="stack" aria-current={isNext ? 'step' : undefined}>
    <h2>
      <span class={isDone ? 'tick-mark good' : 'tick-mark soft'}>
        {isDone ? <Icon name="check" /> : <span aria-hidden={true}>{number}</span>}
        <span class="hidden-label">{isDone ? 'done' : 'to do'}</span>{' '}
      </span>
      {title}
    </h2>
    {children}
  </li>
);

/** What `backscroll init` prints, too. */
const Send = ({ secret }: { secret: string }) => (
  <>
    <CodeBlock label="In a terminal" text={appendLine(location.origin, secret)} />
    <CodeBlock
      label="Or with the OpenAI client, which keeps its conversations here"
      text={clientLine(location.origin, secret)}
    />
  </>
);

const NewApp = ({ created }: { created: () => void }) => (
  <ActionForm
    action="Create the app"
    run={(values) => request('/admin/apps', { method: 'POST', body: { name: nameIn(values) } }).then(created)}
  >
    <NameField label="Name of the app" placeholder="Help desk" />
  </ActionForm>
);

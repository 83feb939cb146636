import type { TargetedSubmitEvent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type KeyKind, keyKinds, keyKindTable, readOnlyKinds } from '../../../server/src/contract/key-kinds.ts';
import { limits } from '../../../server/src/contract/limits.ts';
import { chatModes } from '../../../server/src/contract/rules.ts';
import { CodeBlock } from '../../shared/code-block.tsx';
import { Button, Field, Select } from '../../shared/controls.tsx';
import { DayField } from '../components/period-fields.tsx';
import { ManyPicker, Picker, Tick } from '../components/picker.tsx';
import { capital, Dialog, ErrorNote } from '../components/ui.tsx';
import { type All, type CursorPage, useAll, useAttempt } from '../hooks/requests.ts';
import { pathOf, request } from '../state/api.ts';
import type { App, Conversation, CreatedKey, Dataset, Workspace } from '../state/types.ts';
import { curlOf, expiryOf, lifetimes } from './key-labels.ts';

/** A form for a new key, of this app at first; after it was created, its secret in place of the form. */
export function KeyCreation({ app = '', close, created }: { app?: string; close: () => void; created: () => void }) {
  const [newKey, setNewKey] = useState<NewKey>();
  const show = (key: NewKey) => {
    setNewKey(key);
    created();
  };
  return newKey === undefined ? (
    <Dialog title="New key" close={close}>
      <Form app={app} show={show} close={close} />
    </Dialog>
  ) : (
    <Dialog title="The key was created" close={close} mustConfirm>
      <KeySecret of={newKey} close={close} />
    </Dialog>
  );
}

type NewKey = { kind: KeyKind; secret: string; conversation_id: string | undefined };

function Form({ app, show, close }: { app: string; show: (key: NewKey) => void; close: () => void }) {
  const [kind, setKind] = useState<KeyKind>('app');
  const [app_id, setApp] = useState(app);
  const [workspace_id, setWorkspace] = useState('');
  const [limit, setLimit] = useState<Limit>({});
  const [read_only, setReadOnly] = useState(false);
  const [lifetime, setLifetime] = useState('90');
  const { error, isBusy, attempt } = useAttempt();
  const apps = useAll<App>('/admin/apps');
  const mayBeReadOnly = readOnlyKinds.includes(kind);
  const chooseKind = (chosen: KeyKind) => {
    setKind(chosen);
    setLimit({});
  };
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const body = {
      kind,
      name: String(fields.get('name') ?? '').trim(),
      expires_at: expiryOf(lifetime, String(fields.get('date') ?? ''), Date.now() / 1000),
      ...(requires(kind, 'app_id') && { app_id }),
      ...(requires(kind, 'workspace_id') && { workspace_id, ...limit }),
      ...(mayBeReadOnly && { read_only }),
    };
    return attempt(async () => {
      const app = kind === 'app' ? apps.rows.find(({ id }) => id === app_id) : undefined;
      const conversation_id = await findConversation(app);
      const response = await request<CreatedKey>('/admin/keys', { method: 'POST', body });
      show({ kind, secret: response.body.secret, conversation_id });
    });
  };
  return (
    <form class="stack" onSubmit={submit}>
      <Kinds kind={kind} setKind={chooseKind} />
      {requires(kind, 'app_id') && <Picker label="App" all={apps} value={app_id} choose={setApp} />}
      {requires(kind, 'workspace_id') && (
        <Reach
          kind={kind}
          apps={apps}
          workspace_id={workspace_id}
          setWorkspace={setWorkspace}
          limit={limit}
          setLimit={setLimit}
        />
      )}
      {mayBeReadOnly && (
        <Tick checked={read_only} onChange={() => setReadOnly(!read_only)}>
          Read-only <span class="soft">The key allows no writes.</span>
        </Tick>
      )}
      <Field label="Name" name="name" maxLength={limits.idUnitsMax} autoComplete="off" placeholder="what it is for" />
      <Expiry lifetime={lifetime} setLifetime={setLifetime} />
      <ErrorNote error={error} />
      <div class="row">
        <button type="submit" class="primary" disabled={isBusy}>
          Create the key
        </button>
        <Button onClick={close}>Cancel</Button>
      </div>
    </form>
  );
}

type Reachable = 'app_id' | 'workspace_id' | 'dataset_ids';

const requires = (kind: KeyKind, field: Reachable): boolean =>
  keyKindTable[kind].requires.some((name) => name === field);
const accepts = (kind: KeyKind, field: Reachable): boolean => keyKindTable[kind].accepts.some((name) => name === field);

function Kinds({ kind, setKind }: { kind: KeyKind; setKind: (kind: KeyKind) => void }) {
  return (
    <fieldset class="stack tight">
      <legend>Kind</legend>
      {keyKinds.map((one) => (
        <Tick key={one} type="radio" name="kind" checked={one === kind} onChange={() => setKind(one)}>
          <b>{capital(one)}</b> <span class="soft">{capital(keyKindTable[one].allows)}.</span>
        </Tick>
      ))}
    </fieldset>
  );
}

/** Limit of a workspace's key: one app, some datasets, or neither. Never both. */
type Limit = { app_id?: string; dataset_ids?: string[] };

type ReachProps = {
  kind: KeyKind;
  apps: All<App>;
  workspace_id: string;
  setWorkspace: (id: string) => void;
  limit: Limit;
  setLimit: (limit: Limit) => void;
};

/** A workspace, and all or a part of it. */
function Reach({ kind, apps, workspace_id, setWorkspace, limit, setLimit }: ReachProps) {
  const workspaces = useAll<Workspace>('/admin/workspaces');
  const datasets = useAll<Dataset>('/admin/datasets');
  const choose = (id: string) => {
    setWorkspace(id);
    setLimit({});
  };
  const { app_id, dataset_ids } = limit;
  const inWorkspace = (row: { workspace_id: string }) => row.workspace_id === workspace_id;
  const ownApps = apps.rows.filter(inWorkspace);
  const ownDatasets = datasets.rows.filter(inWorkspace);
  return (
    <div class="stack">
      <Picker label="Workspace" all={workspaces} value={workspace_id} choose={choose} />
      {accepts(kind, 'app_id') && <ErrorNote error={apps.error} retry={apps.reload} />}
      {accepts(kind, 'app_id') && ownApps.length > 0 && (
        <Tick checked={app_id !== undefined} onChange={() => setLimit(app_id === undefined ? { app_id: '' } : {})}>
          Only one app
        </Tick>
      )}
      {app_id !== undefined && (
        <Picker label="App" all={{ ...apps, rows: ownApps }} value={app_id} choose={(id) => setLimit({ app_id: id })} />
      )}
      <ErrorNote error={datasets.error} retry={datasets.reload} />
      {ownDatasets.length > 0 && (
        <Tick
          checked={dataset_ids !== undefined}
          onChange={() => setLimit(dataset_ids === undefined ? { dataset_ids: [] } : {})}
        >
          Only some datasets
        </Tick>
      )}
      {dataset_ids !== undefined && (
        <ManyPicker
          label="Datasets"
          rows={ownDatasets}
          values={dataset_ids}
          choose={(ids) => setLimit({ dataset_ids: ids })}
        />
      )}
    </div>
  );
}

function Expiry({ lifetime, setLifetime }: { lifetime: string; setLifetime: (lifetime: string) => void }) {
  return (
    <div class="row">
      <Select label="Expires" value={lifetime} options={lifetimes} change={setLifetime} />
      {lifetime === 'date' && (
        <label>
          Last day
          <DayField label="Last day" name="date" isRequired />
        </label>
      )}
    </div>
  );
}

/** A conversation of the app, for the example command. */
async function findConversation(app: App | undefined): Promise<string | undefined> {
  if (app === undefined || !chatModes.includes(app.mode)) return undefined;
  const path = pathOf(['admin', 'conversations'], { app_id: app.id, limit: 1 });
  return request<CursorPage<Conversation>>(path).then(
    ({ body }) => body.data[0]?.id,
    () => undefined,
  );
}

/** Shows a secret once. It is only in the state of the dialog. */
export function KeySecret({ of: { kind, secret, conversation_id }, close }: { of: NewKey; close: () => void }) {
  const box = useRef<HTMLDivElement>(null);
  // The element with the focus was removed with the form.
  useEffect(() => box.current?.focus(), []);
  const curl = curlOf(kind, secret, location.origin, conversation_id);
  return (
    <div class="stack" tabIndex={-1} ref={box}>
      <p class="note warn" role="status">
        Copy the secret now. It is shown only once: the service stores only a digest of it.
      </p>
      <CodeBlock label="Secret" text={secret} action="Copy secret" />
      <CodeBlock label="Try it" text={curl} action="Copy command" />
      {kind === 'writer' && (
        <p class="soft">
          <code>records.ndjson</code> contains conversation and message records, one per line.
        </p>
      )}
      <div class="row">
        <Button class="primary" onClick={close}>
          I have copied it
        </Button>
      </div>
    </div>
  );
}

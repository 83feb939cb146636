import { useEffect, useRef, useState } from 'preact/hooks';
import { type KeyKind, keyKinds, keyKindTable, readOnlyKinds } from '../../../server/src/contract/key-kinds.ts';
import { chatModes } from '../../../server/src/contract/rules.ts';
import { CodeBlock } from '../../shared/code-block.tsx';
import { Button, Select } from '../../shared/controls.tsx';
import { ActionDialog, Dialog, NameField, nameIn } from '../components/action-dialog.tsx';
import { DayField } from '../components/period-fields.tsx';
import { ManyPicker, Picker, Tick } from '../components/picker.tsx';
import { capital, ErrorNote } from '../components/ui.tsx';
import { type All, type CursorPage, useAll } from '../hooks/requests.ts';
import { pathOf, request } from '../state/api.ts';
import type { App, Conversation, CreatedKey, Dataset, Workspace } from '../state/types.ts';
import { curlOf, expiryOf, lifetimes } from './key-labels.ts';

type Props = { app?: string; close: () => void; created: () => void };

/** A form for a new key, of this app at first; after it was created, its secret in place of the form. */
export function KeyCreation({ app = '', close, created }: Props) {
  const [newKey, setNewKey] = useState<NewKey>();
  const [kind, setKind] = useState<KeyKind>('app');
  const [scope, setScope] = useState<Scope>({ app_id: app });
  const [read_only, setReadOnly] = useState(false);
  const [lifetime, setLifetime] = useState('90');
  const apps = useAll<App>('/admin/apps');
  const mayBeReadOnly = readOnlyKinds.includes(kind);
  const chooseKind = (chosen: KeyKind) => {
    const { workspace_id = '', app_id = app } = scope;
    setKind(chosen);
    setScope(requires(chosen, 'app_id') ? { app_id } : requires(chosen, 'workspace_id') ? { workspace_id } : {});
  };
  const create = async (fields: FormData) => {
    const expires_at = expiryOf(lifetime, String(fields.get('date') ?? ''), Date.now() / 1000);
    const body = { kind, name: nameIn(fields), expires_at, ...scope, ...(mayBeReadOnly && { read_only }) };
    const app = kind === 'app' ? apps.rows.find(({ id }) => id === scope.app_id) : undefined;
    const conversation_id = await findConversation(app);
    const { secret } = (await request<CreatedKey>('/admin/keys', { method: 'POST', body })).body;
    setNewKey({ kind, secret, conversation_id });
    created();
  };
  if (newKey !== undefined) return <KeySecret title="The key was created" of={newKey} close={close} />;
  return (
    <ActionDialog title="New key" action="Create the key" run={create} close={close}>
      <fieldset class="stack tight">
        <legend>Kind</legend>
        {keyKinds.map((one) => (
          <Tick key={one} type="radio" name="kind" checked={one === kind} onChange={() => chooseKind(one)}>
            <b>{capital(one)}</b> <span class="soft">{capital(keyKindTable[one].allows)}.</span>
          </Tick>
        ))}
      </fieldset>
      {requires(kind, 'app_id') && (
        <Picker label="App" all={apps} value={scope.app_id} choose={(app_id) => setScope({ app_id })} />
      )}
      {requires(kind, 'workspace_id') && <Reach kind={kind} apps={apps} scope={scope} setScope={setScope} />}
      {mayBeReadOnly && (
        <Tick checked={read_only} onChange={() => setReadOnly(!read_only)}>
          Read-only <span class="soft">The key allows no writes.</span>
        </Tick>
      )}
      <NameField required={false} placeholder="what it is for" />
      <div class="row">
        <Select label="Expires" value={lifetime} options={lifetimes} change={setLifetime} />
        {lifetime === 'date' && (
          <label>
            Last day
            <DayField label="Last day" name="date" isRequired />
          </label>
        )}
      </div>
    </ActionDialog>
  );
}

type NewKey = { kind: KeyKind; secret: string; conversation_id?: string | undefined };

/** What a key is limited to. That of a workspace: one app, some datasets, or neither. Never both. */
type Scope = { workspace_id?: string; app_id?: string; dataset_ids?: string[] };

const requires = (kind: KeyKind, field: keyof Scope): boolean =>
  keyKindTable[kind].requires.some((name) => name === field);
const accepts = (kind: KeyKind, field: keyof Scope): boolean =>
  keyKindTable[kind].accepts.some((name) => name === field);

type ReachProps = { kind: KeyKind; apps: All<App>; scope: Scope; setScope: (scope: Scope) => void };

/** A workspace, and all or a part of it. */
function Reach({ kind, apps, scope: { workspace_id = '', app_id, dataset_ids }, setScope }: ReachProps) {
  const workspaces = useAll<Workspace>('/admin/workspaces');
  const datasets = useAll<Dataset>('/admin/datasets');
  const limit = (limit: Scope) => setScope({ workspace_id, ...limit });
  const inWorkspace = (row: { workspace_id: string }) => row.workspace_id === workspace_id;
  const ownApps = apps.rows.filter(inWorkspace);
  const ownDatasets = datasets.rows.filter(inWorkspace);
  const only = (words: string, isChosen: boolean, chosen: Scope) => (
    <Tick checked={isChosen} onChange={() => limit(isChosen ? {} : chosen)}>
      Only {words}
    </Tick>
  );
  return (
    <div class="stack">
      <Picker
        label="Workspace"
        all={workspaces}
        value={workspace_id}
        choose={(workspace_id) => setScope({ workspace_id })}
      />
      {accepts(kind, 'app_id') && <ErrorNote error={apps.error} retry={apps.reload} />}
      {accepts(kind, 'app_id') && ownApps.length > 0 && only('one app', app_id !== undefined, { app_id: '' })}
      {app_id !== undefined && (
        <Picker label="App" all={{ ...apps, rows: ownApps }} value={app_id} choose={(app_id) => limit({ app_id })} />
      )}
      <ErrorNote error={datasets.error} retry={datasets.reload} />
      {ownDatasets.length > 0 && only('some datasets', dataset_ids !== undefined, { dataset_ids: [] })}
      {dataset_ids !== undefined && (
        <ManyPicker
          label="Datasets"
          rows={ownDatasets}
          values={dataset_ids}
          choose={(dataset_ids) => limit({ dataset_ids })}
        />
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

/** Shows a secret once, in place of a form. It is only in the state of the dialog. */
export function KeySecret({ title, of, close }: { title: string; of: NewKey; close: () => void }) {
  const { kind, secret, conversation_id } = of;
  const box = useRef<HTMLDivElement>(null);
  // The element with the focus was removed with the form.
  useEffect(() => box.current?.focus(), []);
  const curl = curlOf(kind, secret, location.origin, conversation_id);
  return (
    <Dialog title={title} close={close} mustConfirm>
      <div class="stack" tabIndex={-1} ref={box}>
        <p class="note warn" role="status">
          Copy the secret now. It is shown only once: the service stores only a digest of it.
        </p>
        <CodeBlock label="Secret" text={secret} action="Copy secret" />
        <CodeBlock label="Try it" text={curl} action="Copy command" />
        <div class="row">
          <Button class="primary" onClick={close}>
            I have copied it
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

import { useState } from 'preact/hooks';
import { Button } from '../../shared/controls.tsx';
import { counted, ErrorNote } from '../components/ui.tsx';
import { useAttempt } from '../hooks/requests.ts';
import { request } from '../state/api.ts';

/** Imports a file of records that the user drops or chooses, or the starter records. */
export function RecordsFile({ imported }: { imported: () => void }) {
  const { error, isBusy, attempt } = useAttempt();
  const [progress, setProgress] = useState('');
  const [isOver, setOver] = useState(false);
  const send = (name: string, read: () => Promise<Blob>) => {
    setProgress(`Importing ${name}…`);
    return attempt(async () => {
      const { body } = await request<{ records: number }>('/admin/records', { method: 'POST', upload: await read() });
      setProgress(`${name}: ${counted(body.records, 'record')} imported.`);
      imported();
    });
  };
  const sendFile = (file: File | undefined) => file && void send(file.name, async () => file);
  const choose = ({ currentTarget }: { currentTarget: HTMLInputElement }) => sendFile(currentTarget.files?.[0]);
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    sendFile(event.dataTransfer?.files[0]);
  };
  const onDragOver = (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
  const loadStarter = () => send('Starter records', async () => (await fetch('/console/starter.ndjson')).blob());
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button in it does the same
    <section
      class={isOver ? 'card stack drop over' : 'card stack drop'}
      onDrop={onDrop}
      onDragOver={onDragOver}
      onDragLeave={() => setOver(false)}
    >
      <h2>Or begin with records</h2>
      <p class="soft">Drop a file of records (lines of JSON) here, or choose one. The import is all or nothing.</p>
      <div class="row">
        <label class="button">
          Choose a file of records
          <input class="hidden-label" type="file" disabled={isBusy} onChange={choose} />
        </label>
        <Button disabled={isBusy} onClick={loadStarter}>
          Load the starter records
        </Button>
      </div>
      <p role="status">{error === undefined && progress}</p>
      <ErrorNote error={error} />
    </section>
  );
}

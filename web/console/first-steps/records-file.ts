import { button, el, h, useState } from '../../shared/dom.ts';
import { counted, ErrorNote } from '../components/ui.ts';
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
  const onDragLeave = () => setOver(false);
  const loadStarter = () => send('Starter records', async () => (await fetch('/console/starter.ndjson')).blob());
  return h('section', { class: isOver ? 'card stack drop over' : 'card stack drop', onDrop, onDragOver, onDragLeave }, [
    el('h2', 'Or begin with records'),
    el('p.soft', 'Drop a file of records (lines of JSON) here, or choose one. The import is all or nothing.'),
    el('div.row', [
      el('label.button', [
        'Choose a file of records',
        h('input', { class: 'hidden-label', type: 'file', disabled: isBusy, onChange: choose }),
      ]),
      button({ disabled: isBusy, onClick: loadStarter }, 'Load the starter records'),
    ]),
    h('p', { role: 'status' }, error === undefined && progress),
    h(ErrorNote, { error }),
  ]);
}

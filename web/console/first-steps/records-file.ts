import { button, el, h, useState } from '../../shared/dom.ts';
import { counted, ErrorNote } from '../components/ui.ts';
import { type ApiError, request } from '../state/api.ts';

type State = { busy?: string; done?: string; error?: ApiError };

/** Imports a file of records that the user drops or chooses, or the starter records. */
export function RecordsFile({ imported }: { imported: () => void }) {
  const [{ busy, done, error }, setState] = useState<State>({});
  const [isOver, setOver] = useState(false);
  const send = async (name: string, read: () => Promise<Blob>) => {
    setState({ busy: `Importing ${name}…` });
    try {
      const { body } = await request<{ records: number }>('/admin/records', { method: 'POST', upload: await read() });
      setState({ done: `${name}: ${counted(body.records, 'record')} imported.` });
      imported();
    } catch (error) {
      setState({ error: error as ApiError });
    }
  };
  const sendFile = (file: File | undefined) => file && void send(file.name, async () => file);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    sendFile(event.dataTransfer?.files[0]);
  };
  const over = (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
  return h(
    'section',
    {
      class: isOver ? 'card stack drop over' : 'card stack drop',
      onDrop: drop,
      onDragOver: over,
      onDragLeave: () => setOver(false),
    },
    el('h2', 'Or begin with records'),
    el('p.soft', 'Drop a file of records (lines of JSON) here, or choose one. The import is all or nothing.'),
    el(
      'div.row',
      el(
        'label',
        el('span.hidden-label', 'File of records'),
        h('input', {
          type: 'file',
          disabled: busy !== undefined,
          onChange: ({ currentTarget }: { currentTarget: HTMLInputElement }) => sendFile(currentTarget.files?.[0]),
        }),
      ),
      button(
        {
          disabled: busy !== undefined,
          onClick: () => send('Starter records', async () => (await fetch('/console/starter.ndjson')).blob()),
        },
        'Load the starter records',
      ),
    ),
    h('p', { role: 'status' }, busy ?? done ?? ''),
    h(ErrorNote, { error }),
  );
}

import { Button, Icon } from '../../shared/controls.tsx';
import { useAttempt } from '../hooks/requests.ts';
import { send } from '../state/api.ts';
import { ErrorNote } from './ui.tsx';

type Props = { label: string; path: string; name: string; look?: string };

/** Saves a response as a file. The header of the console is needed, so that a link alone cannot do it. */
export function DownloadButton({ label, path, name, look }: Props) {
  const { error, isBusy, attempt } = useAttempt();
  const save = () => attempt(() => download(path, name));
  return (
    <>
      <Button class={look} disabled={isBusy} onClick={save}>
        <Icon name="download" />
        {label}
      </Button>
      <ErrorNote error={error} />
    </>
  );
}

export const download = async (path: string, name: string): Promise<void> =>
  offer(await (await send(path)).blob(), name);

/** Gives a file to the user. */
export function offer(blob: Blob, name: string): void {
  const href = URL.createObjectURL(blob);
  Object.assign(document.createElement('a'), { href, download: name }).click();
  URL.revokeObjectURL(href);
}

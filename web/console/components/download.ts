import { send } from '../state/api.ts';

/** Saves a response as a file. The header of the console is needed, so that a link alone cannot do it. */
export async function download(path: string, name: string): Promise<void> {
  offer(await (await send(path)).blob(), name);
}

/** Gives a file to the user. */
export function offer(blob: Blob, name: string): void {
  const href = URL.createObjectURL(blob);
  Object.assign(document.createElement('a'), { href, download: name }).click();
  URL.revokeObjectURL(href);
}

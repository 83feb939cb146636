import type { Config } from '../config.ts';
import { isStore, storeForms, withoutUser } from '../setting-kinds.ts';
import type { Destination } from './destination.ts';
import { FolderDestination } from './folder.ts';

/** The store of backups with this address, which may come from the command line. */
export async function openDestination(url: string, config: Config): Promise<Destination> {
  if (!isStore(url)) throw new Error(`${withoutUser(url)}: must be ${storeForms}`);
  if (!url.startsWith('s3://')) return new FolderDestination(url);
  const { S3Destination } = await import('./s3.ts');
  return new S3Destination(url, config);
}

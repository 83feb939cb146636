import type { AppListed } from '../../contract/admin.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { requireFound } from '../errors.ts';
import type { Store } from '../store/store.ts';

/** Throws if the app does not exist. */
export async function requireApp({ admin }: Store, id: string): Promise<AppListed> {
  return requireFound(await admin.findApp(canonicalId(id)), 'app not found');
}

import type { AppListed } from '../../contract/admin.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { notFound } from '../errors.ts';
import type { Store } from '../store/store.ts';

/** Throws if the app does not exist. */
export async function requireApp({ admin }: Store, id: string): Promise<AppListed> {
  const app = await admin.findApp(canonicalId(id));
  if (app === undefined) throw notFound('app not found');
  return app;
}

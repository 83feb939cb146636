import type { PersonListed } from '../../contract/people/people.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { personPrefix } from '../author.ts';
import { requireFound, ServiceError } from '../errors.ts';
import { byName, type CursorPage } from '../paging.ts';
import type { Store } from '../store/store.ts';

const people = byName<PersonListed>();

export const listPeople = (
  { admin }: Store,
  query: { limit?: number; cursor?: string },
  now: number,
): Promise<CursorPage<PersonListed>> => people.read(query, (range) => admin.listPeople(range, now));

/** Blocks a person, allows one to sign in again, or, if `blocked` is undefined, only ends the sessions. `by` is null for the command line. */
export async function changePerson(
  store: Store,
  { person_id, blocked, by, now }: { person_id: string; blocked?: boolean; by: string | null; now: number },
): Promise<PersonListed> {
  const id = canonicalId(person_id);
  if (blocked === true && by === `${personPrefix}${id}`)
    throw new ServiceError('forbidden', 'people cannot block themselves');
  await store.run('changePerson', { id, blocked, by, now });
  return requireFound(await store.admin.findPerson(id, now), 'person not found');
}

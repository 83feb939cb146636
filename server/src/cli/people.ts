import type { Config } from '../config.ts';
import type { PersonListed } from '../contract/people/people.ts';
import { changePerson, listPeople } from '../domain/people/people.ts';
import type { Store } from '../domain/store/store.ts';
import {
  type Command,
  epochSeconds,
  flag,
  parse,
  print,
  printTable,
  timeOf,
  Usage,
  visible,
  withStore,
} from './command.ts';

/** Each ends the sessions of a person, or what it says. */
const changes = { end: undefined, block: true, unblock: false } as const;
const done = { end: 'signed out', block: 'blocked', unblock: 'unblocked' } as const;
const isChange = (action: string | undefined): action is keyof typeof changes =>
  action !== undefined && Object.hasOwn(changes, action);

export const peopleCommand: Command = {
  help: `Usage: backscroll people list [--json]
       backscroll people end ID
       backscroll people block ID
       backscroll people unblock ID

The people who signed in to the console by name (see OIDC_ISSUER).

  list     who signed in, with role, its source, and the number of sessions
  end      ends the sessions of a person; the role is read again at the next sign-in
  block    ends them, and rejects further sign-ins
  unblock  allows the person to sign in again

All take effect at once in a running service.`,

  run: async ([action, ...argv], config) => {
    if (action === 'list') return list(argv, config);
    if (!isChange(action)) {
      throw new Usage(
        action === undefined ? 'people needs list, end, block or unblock' : `unknown command 'people ${action}'`,
      );
    }
    const [person_id] = parse(argv, {}, { max: 1 }).positionals;
    if (person_id === undefined) throw new Usage(`people ${action} needs the ID of a person, as shown by people list`);
    const blocked = changes[action];
    const change = { person_id, ...(blocked !== undefined && { blocked }), by: null, now: epochSeconds() };
    const { id, name } = await withStore(config, 'existing', (store) => changePerson(store, change));
    print(`${done[action]} ${visible(name)} (${id})`);
    return 0;
  },
};

async function list(argv: string[], config: Config): Promise<number> {
  const { values } = parse(argv, { json: flag }, { max: 0 });
  const people = await withStore(config, 'existing', readAll);
  if (values.json) for (const person of people) print(JSON.stringify(person));
  else printTable([['id', 'name', 'email', 'role', 'source', 'sessions', 'last seen'], ...people.map(row)]);
  return 0;
}

async function readAll(store: Store): Promise<PersonListed[]> {
  const people: PersonListed[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await listPeople(store, { limit: 100, ...(cursor && { cursor }) }, epochSeconds());
    people.push(...page.data);
    cursor = page.next_cursor;
  }
  return people;
}

const row = ({ id, name, email, role, role_source, blocked, sessions, last_seen_at }: PersonListed): string[] => [
  id,
  visible(name) || '-',
  visible(email ?? '') || '-',
  blocked ? `${role}, blocked` : role,
  visible(role_source ?? '') || '-',
  `${sessions}`,
  timeOf(last_seen_at),
];

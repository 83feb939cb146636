import type { Config } from '../config.ts';
import type { PersonListed } from '../contract/people/people.ts';
import { keysOf } from '../contract/primitives.ts';
import { readAll } from '../domain/paging.ts';
import { changePerson, listPeople } from '../domain/people/people.ts';
import { type Command, epochSeconds, withStore } from './command.ts';
import { actionOf, flag, parse, print, printRows, timeOf, Usage, visible } from './terminal.ts';

/** Each ends the sessions of a person, or what it says. */
const changes = { end: undefined, block: true, unblock: false } as const;
const done = { end: 'signed out', block: 'blocked', unblock: 'unblocked' } as const;

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

  run: async ([given, ...argv], config) => {
    const action = actionOf('people', given, ['list', ...keysOf(changes)]);
    if (action === 'list') return list(argv, config);
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
  const people = await withStore(config, 'existing', (store) =>
    readAll((page) => listPeople(store, page, epochSeconds())),
  );
  printRows(people, values.json === true, ['id', 'name', 'email', 'role', 'source', 'sessions', 'last seen'], row);
  return 0;
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

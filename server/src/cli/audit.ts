import type { ActivityListed, ReadListed } from '../contract/audit.ts';
import { limits } from '../contract/limits.ts';
import { canonicalId } from '../contract/primitives.ts';
import { listReads, nameEntries, requestedAuthor } from '../domain/activity/list-activity.ts';
import { readAll } from '../domain/paging.ts';
import type { AuditEntry, AuditQuery } from '../domain/store/audit.ts';
import type { Store } from '../domain/store/store.ts';
import { type Command, epochSeconds, withStore } from './command.ts';
import { flag, parse, print, printRows, printTable, secondsOf, text, timeOf, Usage, visible } from './terminal.ts';

const shownIds = 3;

export const auditCommand: Command = {
  help: `Usage: backscroll audit [--limit N] [--since TIME] [--key ID | --person ID] [--id ID] [--json]
       backscroll audit --reads [--limit N] [--key ID | --person ID] [--user USER] [--json]

Shows the audit log, newest first: edits, imports, created and revoked keys, erasures. Keys and records that still exist
are shown with their current names.

Options:
  --limit N     maximum number of entries (default: 100)
  --since TIME  maximum age: a number and s, m, h, d or w, such as 7d
  --key ID      only writes with this key
  --person ID   only writes by this person, who signed in by name
  --id ID       only writes to the record with this id, or to messages of the conversation with this id
  --json        one JSON object per line, with all ids of the entry
  --reads       who has opened, copied or searched what end users said (see AUDIT_READS)
  --user USER   only reads of what this end user said; the exact name

For an import, an entry has the number of records of one kind, and the ids of the first ${limits.auditIdsMax}. It never contains
texts or secrets. Entries are deleted after AUDIT_DAYS days.`,

  run: async (argv, config) => {
    const known = { limit: text, since: text, key: text, person: text, id: text, json: flag, reads: flag, user: text };
    const { values } = parse(argv, known, { max: 0 });
    const { since, id, key, person, user, json = false } = values;
    const limit = limitOf(values.limit ?? '100');
    if (values.reads) {
      if (since !== undefined || id !== undefined) throw new Usage('--since and --id are not allowed with --reads');
      const query = { ...(key && { key_id: key }), ...(person && { person_id: person }), ...(user && { user }) };
      const reads = await withStore(config, 'existing', (store) =>
        readAll((page) => listReads(store, { ...query, ...page }), limit),
      );
      printRows(reads, json, ['time', 'by', 'operation', 'what'], readRow);
      return 0;
    }
    if (user !== undefined) throw new Usage('--user requires --reads');
    const query = {
      limit,
      from: since === undefined ? undefined : Math.max(0, epochSeconds() - secondsOf('--since', since)),
      key_id: requestedAuthor(key, person),
      record_id: id && canonicalId(id),
    };
    await withStore(config, 'existing', async (store) => {
      if (json) {
        for await (const batch of entries(store, query))
          for (const entry of batch) print(JSON.stringify(jsonOf(entry)));
      } else {
        const rows: string[][] = [];
        for await (const batch of entries(store, query)) rows.push(...batch.map(entryRow));
        printTable([['time', 'key', 'action', 'records'], ...rows]);
      }
    });
    return 0;
  },
};

function limitOf(given: string): number {
  if (!/^[1-9]\d{0,8}$/.test(given)) throw new Usage(`--limit ${given}: must be a whole number from 1`);
  return Number(given);
}

type NamedEntry = readonly [AuditEntry, ActivityListed];

async function* entries(store: Store, { limit, ...query }: AuditQuery): AsyncGenerator<NamedEntry[]> {
  for (let left = limit, before: string | undefined; left > 0; ) {
    const page = await store.listAudit({ ...query, before, limit: Math.min(left, limits.auditBatchMax) });
    const named = await nameEntries(store, page.entries);
    if (named.length > 0) yield page.entries.map((entry, at) => [entry, named[at] as ActivityListed] as const);
    if (page.next === undefined) return;
    left -= named.length;
    before = page.next;
  }
}

/** Without fields that only erasures, changes, calls of agents, or people have. */
function jsonOf([
  { ids },
  { id: _, records, app_id, app_name, messages, cleaned_at, tool, changes, person_id, person_name, ...named },
]: NamedEntry): object {
  const ofErasure = app_id === null ? {} : { app_id, app_name, messages, cleaned_at };
  const ofPerson = person_id === null ? {} : { person_id, person_name };
  return {
    ...named,
    ...ofPerson,
    ...ofErasure,
    ...(tool !== null && { tool }),
    ...(changes.length > 0 && { changes }),
    ids,
    names: records.map(({ name }) => name),
  };
}

function entryRow([, entry]: NamedEntry): string[] {
  const { at, action, record, count, records, app_id, app_name, messages, tool, changes } = entry;
  const shown = records.slice(0, shownIds).map(({ id, name }) => visible(name === null ? id : `${name} (${id})`));
  const more = count - shown.length;
  const rest = shown.length > 0 && more > 0 ? ` and ${more} more` : '';
  const list = shown.length === 0 ? '' : `: ${shown.join(' ')}`;
  const author = authorOf(entry);
  const inApp = app_id === null ? '' : ` of ${visible(app_name ?? app_id)}`;
  const withMessages = messages === null || record === 'message' ? '' : ` with ${messages} message`;
  const by = visible(tool === null ? author : `${author} with ${tool}`);
  const fields = changes.map(({ field, before, after }) => visible(`, ${field}: ${before} → ${after}`)).join('');
  return [timeOf(at), by, action, `${count} ${record}${withMessages}${inApp}${list}${rest}${fields}`];
}

function authorOf({ key_id, key_name, person_id, person_name }: ActivityListed | ReadListed): string {
  const id = key_id ?? person_id ?? 'command line';
  const name = key_name ?? person_name;
  return name ? `${name} (${id})` : id;
}

function readRow(read: ReadListed): string[] {
  const { at, operation, app_id, app_name, conversation_id, user, words } = read;
  const what = [
    ...(words === null ? [] : [`"${words}"`]),
    ...(conversation_id === null ? [] : [`conversation ${conversation_id}`]),
    ...(user === null ? [] : [`of ${user}`]),
    ...(app_id === null ? [] : [`in ${app_name ?? app_id}`]),
  ];
  return [timeOf(at), visible(authorOf(read)), operation, visible(what.join(' ')) || 'everything'];
}

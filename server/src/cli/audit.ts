import { limits } from '../contract/limits.ts';
import { canonicalId } from '../contract/primitives.ts';
import type { AuditEntry } from '../domain/audit.ts';
import type { Store } from '../domain/store.ts';
import {
  type Command,
  epochSeconds,
  parse,
  print,
  printTable,
  secondsOf,
  timeOf,
  Usage,
  visible,
  withStore,
} from './command.ts';

const shownIds = 3;

export const auditCommand: Command = {
  help: `Usage: backscroll audit [--limit N] [--since TIME] [--key ID] [--id ID] [--json]

Shows the audit log, newest first: edits, imports, created and revoked keys, purges.

Options:
  --limit N     maximum number of entries (default: 100)
  --since TIME  maximum age: a number and s, m, h, d or w, such as 7d
  --key ID      only writes with this key
  --id ID       only writes to the record with this id, or to messages of the conversation with this id
  --json        one JSON object per line, with all ids of the entry

For an import, an entry has the number of records of one kind, and the ids of the first ${limits.auditIdsMax}. It never contains
texts or secrets. Entries are deleted after AUDIT_DAYS days.`,

  run: async (argv, config) => {
    const { values } = parse(
      argv,
      {
        limit: { type: 'string' },
        since: { type: 'string' },
        key: { type: 'string' },
        id: { type: 'string' },
        json: { type: 'boolean' },
      },
      { max: 0 },
    );
    const options = values as { limit?: string; since?: string; key?: string; id?: string; json?: boolean };
    const query = {
      limit: limitOf(options.limit ?? '100'),
      since: options.since === undefined ? 0 : epochSeconds() - secondsOf('--since', options.since),
      key_id: options.key && canonicalId(options.key),
      record_id: options.id && canonicalId(options.id),
    };
    await withStore(config, 'existing', async (store) => {
      if (options.json) {
        for await (const batch of entries(store, query))
          for (const { id, ...entry } of batch) print(JSON.stringify(entry));
      } else {
        const rows: string[][] = [];
        for await (const batch of entries(store, query)) rows.push(...batch.map(entryRow));
        printTable([['time', 'key', 'action', 'records'], ...rows]);
      }
    });
    return 0;
  },
};

type Query = { limit: number; since: number; key_id: string | undefined; record_id: string | undefined };

function limitOf(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Usage(`--limit ${text}: must be a whole number from 1`);
  return Number(text);
}

async function* entries(store: Store, { limit, ...query }: Query): AsyncGenerator<AuditEntry[]> {
  for (let left = limit, before: string | undefined; left > 0; ) {
    const count = Math.min(left, limits.auditBatchMax);
    const batch = await store.listAudit({ ...query, before, limit: count });
    if (batch.length > 0) yield batch;
    if (batch.length < count) return;
    left -= batch.length;
    before = batch.at(-1)?.id;
  }
}

function entryRow({ at, key_id, action, record, count, ids }: AuditEntry): string[] {
  const more = count - Math.min(ids.length, shownIds);
  const shownIdList = visible(ids.slice(0, shownIds).join(' '));
  const rest = shownIdList === '' ? '' : more > 0 ? ` and ${more} more` : '';
  return [
    timeOf(at),
    key_id ?? 'command line',
    action,
    `${count} ${record}${shownIdList && `: ${shownIdList}`}${rest}`,
  ];
}

import { copyFile, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { newFolder, newScope, run, sendRequest, serve } from '../test/support/cli-helpers.ts';
import { makeTwoTenants, message, ndjson } from '../test/support/harness.ts';
import { count, type Experiment, type Finding, type Say } from './support/experiment.ts';

/**
 * A service is written to without a pause while backups are taken of it. Every write is one import that adds the same
 * number to two conversations, so a backup that shows a number in one only is torn.
 */
export async function backUpUnderLoad(
  { messages, writers, backups }: { messages: number; writers: number; backups: number },
  say: Say = () => undefined,
): Promise<Finding[]> {
  const scope = newScope();
  try {
    const cwd = await newFolder(scope);
    const { one, other, admin, records } = makeTwoTenants();
    const filler = Array.from({ length: messages }, (_, n) =>
      message(one.ids.conversation, n, { query: 'filler', answer: `${n} `.repeat(150) }),
    );
    await done(['import', '-'], cwd, ndjson([...records, ...filler]));
    const serving = await serve(scope, { cwd });

    const acknowledged = new Set<number>();
    let next = 0;
    let slowest = 0;
    let refused = 0;
    let isWriting = true;
    const write = async () => {
      while (isWriting) {
        const number = next++;
        const pair = [one, other].map(({ ids }) =>
          message(ids.conversation, 1_000_000 + number, { query: `${number}` }),
        );
        const began = performance.now();
        const { status } = await sendRequest(serving.base, '/admin/records', admin, {
          method: 'POST',
          lines: ndjson(pair),
        });
        slowest = Math.max(slowest, performance.now() - began);
        if (status === 200) acknowledged.add(number);
        else refused += 1;
      }
    };
    const writing = Promise.all(Array.from({ length: writers }, write));
    while (acknowledged.size === 0) await sleep(5);
    const taken: { file: string; before: number[]; during: number; millis: number }[] = [];
    for (let at = 0; at < backups; at += 1) {
      const file = join(cwd, `backup-${at}.db`);
      const before = [...acknowledged];
      const began = performance.now();
      say((await done(['backup', file], cwd)).trim());
      taken.push({ file, before, during: acknowledged.size - before.length, millis: performance.now() - began });
    }
    isWriting = false;
    await writing;
    await done(['backup', 'last.db'], cwd);
    await serving.end('SIGTERM');

    let lost = 0;
    let torn = 0;
    let damaged = 0;
    for (const { file, before } of taken) {
      const [here, there] = numbersIn(file, [one.ids.conversation, other.ids.conversation]);
      lost += before.filter((number) => !here.has(number)).length;
      torn += [...here, ...there].filter((number) => here.has(number) !== there.has(number)).length;
      damaged += isWhole(file) ? 0 : 1;
    }
    const restored = await newFolder(scope);
    await mkdir(join(restored, 'data'));
    await copyFile(join(cwd, 'last.db'), join(restored, 'data', 'backscroll.db'));
    const isEqual = (await done(['export'], cwd)) === (await done(['export'], restored));
    const again = await serve(scope, { cwd: restored });
    const path = `/v1/messages?conversation_id=${one.ids.conversation}`;
    const page = await sendRequest(again.base, path, one.keys.app);
    await again.end('SIGTERM');

    const during = taken.map((one) => one.during);
    const { size } = await stat(taken[0]?.file ?? '');
    const many = `${count(backups)} backups of ${(size / 1e6).toFixed(0)} MB or more`;
    const beside = (await readdir(cwd)).filter((name) => /^(backup-\d+|last)\.db./.test(name));
    return [
      {
        promise: 'a backup ends under constant writing, and no write is refused or waits for it',
        measured:
          `${many}, the slowest in ${Math.max(...taken.map((one) => one.millis)).toFixed(0)} ms; ` +
          `${count(Math.min(...during))} writes or more during each, ${refused} refused, the slowest ${slowest.toFixed(0)} ms`,
        // A small one may fall between two writes.
        holds: refused === 0 && Math.max(...during) > 0,
      },
      {
        promise: 'a backup holds every write acknowledged before it began, and is of one moment',
        measured: `${count(acknowledged.size)} pairs written; ${lost} lost, ${torn} torn`,
        holds: lost === 0 && torn === 0 && taken.some(({ before }) => before.length > 0),
      },
      {
        promise: 'a backup is one file that opens by itself and passes the integrity check',
        measured: `${damaged} of ${count(backups)} damaged, ${beside.length} other files`,
        holds: damaged === 0 && beside.length === 0,
      },
      {
        promise: 'restored elsewhere, it exports the same bytes and is served',
        measured: `export ${isEqual ? 'equal' : 'differs'}, page ${page.status} with ${page.body?.data?.length} messages`,
        holds: isEqual && page.status === 200 && page.body.data.length === 20,
      },
    ];
  } finally {
    await scope.end();
  }
}

async function done(args: string[], cwd: string, stdin = ''): Promise<string> {
  const ran = await run(args, { cwd, stdin, millisMax: 600_000 });
  if (ran.code !== 0) throw new Error(`${args[0]}: exit code ${ran.code}: ${ran.stderr}`);
  return ran.stdout;
}

/** The numbers that a copy shows in each of two conversations. */
function numbersIn(file: string, conversations: [string, string]): [Set<number>, Set<number>] {
  const db = new DatabaseSync(file, { readOnly: true });
  const find = db.prepare('SELECT created_at FROM messages WHERE conversation_id = ? AND created_at >= 1000000');
  const sets = conversations.map((id) => new Set(find.all(id).map((row) => Number(row.created_at) - 1_000_000)));
  db.close();
  return sets as [Set<number>, Set<number>];
}

function isWhole(file: string): boolean {
  const db = new DatabaseSync(file, { readOnly: true });
  const [first] = db.prepare('PRAGMA integrity_check').all();
  db.close();
  return first?.integrity_check === 'ok';
}

export const backup: Experiment = {
  name: 'backup',
  long: (say) => backUpUnderLoad({ messages: 300_000, writers: 4, backups: 10 }, say),
};

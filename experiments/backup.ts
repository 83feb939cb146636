import { copyFile, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { inScope, newFolder, sendRequest, serve, serveWithWorkers } from '../server/test/support/cli-helpers.ts';
import { makeTwoTenants, message, ndjson } from '../server/test/support/harness.ts';
import { count, type Experiment, type Finding, importRecords, type Log, runCommand } from './support/experiment.ts';

/**
 * Takes backups of a service under constant writes. Every write is one import that adds the same number to two
 * conversations, so a backup with a number in only one of them is torn.
 */
export const backUpUnderLoad = (
  { messages, writers, backups }: { messages: number; writers: number; backups: number },
  log: Log = () => undefined,
): Promise<Finding[]> =>
  inScope(async (scope) => {
    const cwd = await newFolder(scope);
    const { one, other, admin, records } = makeTwoTenants();
    const filler = Array.from({ length: messages }, (_, n) =>
      message(one.ids.conversation, n, { query: 'filler', answer: `${n} `.repeat(150) }),
    );
    await importRecords([...records, ...filler], { cwd });
    const serving = await serveWithWorkers(scope, { cwd });

    const acknowledged = new Set<number>();
    let next = 0;
    let slowest = 0;
    let rejected = 0;
    let isWriting = true;
    const write = async () => {
      while (isWriting) {
        const number = next++;
        const pair = [one, other].map(({ ids }) =>
          message(ids.conversation, 1_000_000 + number, { query: `${number}` }),
        );
        const startedAt = performance.now();
        const { status } = await sendRequest(serving.base, '/admin/records', admin, {
          method: 'POST',
          lines: ndjson(pair),
        });
        slowest = Math.max(slowest, performance.now() - startedAt);
        if (status === 200) acknowledged.add(number);
        else rejected += 1;
      }
    };
    const writing = Promise.all(Array.from({ length: writers }, write));
    while (acknowledged.size === 0) await sleep(5);
    const backupsTaken: { file: string; before: number[]; during: number; millis: number }[] = [];
    for (let at = 0; at < backups; at += 1) {
      const file = join(cwd, `backup-${at}.db`);
      const before = [...acknowledged];
      const startedAt = performance.now();
      log((await runCommand(['backup', file], { cwd })).trim());
      backupsTaken.push({
        file,
        before,
        during: acknowledged.size - before.length,
        millis: performance.now() - startedAt,
      });
    }
    isWriting = false;
    await writing;
    await runCommand(['backup', 'last.db'], { cwd });
    await serving.end('SIGTERM');

    let lost = 0;
    let torn = 0;
    let damaged = 0;
    for (const { file, before } of backupsTaken) {
      const [here, there] = numbersIn(file, [one.ids.conversation, other.ids.conversation]);
      lost += before.filter((number) => !here.has(number)).length;
      torn += [...here, ...there].filter((number) => here.has(number) !== there.has(number)).length;
      damaged += isIntact(file) ? 0 : 1;
    }
    const restored = await newFolder(scope);
    await mkdir(join(restored, 'data'));
    await copyFile(join(cwd, 'last.db'), join(restored, 'data', 'backscroll.db'));
    const isEqual = (await runCommand(['export'], { cwd })) === (await runCommand(['export'], { cwd: restored }));
    const restoredService = await serve(scope, { cwd: restored });
    const path = `/v1/messages?conversation_id=${one.ids.conversation}`;
    const page = await sendRequest(restoredService.base, path, one.keys.app);
    await restoredService.end('SIGTERM');

    const writesDuring = backupsTaken.map((one) => one.during);
    const { size } = await stat(backupsTaken[0]?.file ?? '');
    const summary = `${count(backups)} backups of ${(size / 1e6).toFixed(0)} MB or more`;
    const extraFiles = (await readdir(cwd)).filter((name) => /^(backup-\d+|last)\.db./.test(name));
    return [
      {
        promise: 'a backup completes under constant writes, and no write is rejected or waits for it',
        measured:
          `${summary}, the slowest took ${Math.max(...backupsTaken.map((one) => one.millis)).toFixed(0)} ms; ` +
          `at least ${count(Math.min(...writesDuring))} writes during each, ${rejected} rejected, the slowest took ${slowest.toFixed(0)} ms`,
        // A small backup may fall between two writes.
        holds: rejected === 0 && Math.max(...writesDuring) > 0,
      },
      {
        promise: 'a backup contains every write acknowledged before it started, and shows a single point in time',
        measured: `${count(acknowledged.size)} pairs written; ${lost} lost, ${torn} torn`,
        holds: lost === 0 && torn === 0 && backupsTaken.some(({ before }) => before.length > 0),
      },
      {
        promise: 'a backup is a single file that passes the integrity check',
        measured: `${damaged} of ${count(backups)} damaged, ${extraFiles.length} other files`,
        holds: damaged === 0 && extraFiles.length === 0,
      },
      {
        promise: 'a restored backup exports the same bytes and can be served',
        measured: `export ${isEqual ? 'equal' : 'differs'}, page ${page.status} with ${page.body?.data?.length} messages`,
        holds: isEqual && page.status === 200 && page.body.data.length === 20,
      },
    ];
  });

/** The numbers that a backup contains in each of two conversations. */
function numbersIn(file: string, conversations: [string, string]): [Set<number>, Set<number>] {
  const db = new DatabaseSync(file, { readOnly: true });
  const find = db.prepare('SELECT created_at FROM messages WHERE conversation_id = ? AND created_at >= 1000000');
  const sets = conversations.map((id) => new Set(find.all(id).map((row) => Number(row.created_at) - 1_000_000)));
  db.close();
  return sets as [Set<number>, Set<number>];
}

function isIntact(file: string): boolean {
  const db = new DatabaseSync(file, { readOnly: true });
  const [first] = db.prepare('PRAGMA integrity_check').all();
  db.close();
  return first?.integrity_check === 'ok';
}

export const backup: Experiment = {
  name: 'backup',
  long: (log) => backUpUnderLoad({ messages: 300_000, writers: 4, backups: 10 }, log),
};

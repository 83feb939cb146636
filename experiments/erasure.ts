import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  inScope,
  newFolder,
  type ServerProcess,
  sendRequest,
  serveWithWorkers,
} from '../server/test/support/cli-helpers.ts';
import { exampleOf } from '../server/test/support/complete-records.ts';
import { makeTwoTenants, message, ndjson } from '../server/test/support/harness.ts';
import { indexFaults, indexFinding } from './support/commands.ts';
import { count, type Experiment, type Finding, importRecords, type Log, runCommand } from './support/experiment.ts';

type User = ReturnType<typeof makeUser>;

/** A user with three conversations, one of them deleted. Every text of this user contains a marker. */
function makeUser(name: string, app_id: string) {
  const marker = `the-marker-of-${name}-${name}`;
  const conversations = [randomUUID(), randomUUID(), randomUUID()];
  const conversationRecords = conversations.map((id, at) => ({
    record: 'conversation',
    id,
    app_id,
    user: marker,
    deleted: at === 2,
  }));
  const ids = new Map<number, string>();
  /** The same message in each round, with a different length and time, so that rows move within the file. */
  const messageOf = (at: number, round: number) => {
    const id = ids.get(at) ?? randomUUID();
    ids.set(at, id);
    const length = 1 + ((at * 13 + round * 29) % 97) * (at % 10 === 0 ? 40 : 1);
    return markedMessage(conversations[at % 3] ?? '', id, (at * 7 + round * 11) % 31, marker, length);
  };
  return { marker, conversations, conversationRecords, messageOf };
}

/** A message with the marker in every text field. The longest ones do not fit into one page of the file. */
function markedMessage(conversation_id: string, id: string, created_at: number, marker: string, length: number) {
  const answer = `${marker} `.repeat(length);
  return message(conversation_id, created_at, {
    ...exampleOf('Message', marker),
    conversation_id,
    id,
    answer,
    created_at,
  });
}

/**
 * Purges users one after another, whose messages were written, moved and replaced many times, while the service
 * handles reads and writes. Then searches every byte of every file in the folder, including a backup.
 */
export const purgeUnderLoad = (
  { users, messages, rounds, readers }: { users: number; messages: number; rounds: number; readers: number },
  log: Log = () => undefined,
): Promise<Finding[]> =>
  inScope(async (scope) => {
    const cwd = await newFolder(scope);
    const { one, admin, records } = makeTwoTenants();
    const all = Array.from({ length: users + 1 }, (_, at) =>
      makeUser(`user-${String(at).padStart(2, '0')}`, one.ids.app),
    );
    const [otherUser, ...purgedUsers] = all as [User, ...User[]];
    await importRecords([...records, ...all.flatMap((user) => user.conversationRecords)], { cwd });
    const serving = await serveWithWorkers(scope, { cwd });
    for (let round = 0; round < rounds; round += 1) {
      const lines = Array.from({ length: messages }, (_, at) =>
        all.map(({ messageOf }) => messageOf(at, round)),
      ).flat();
      const reply = await sendRequest(serving.base, '/admin/records', admin, { method: 'POST', lines: ndjson(lines) });
      if (reply.status !== 200) throw new Error(reply.text);
    }
    const before = sizeOf(cwd);
    const isStored = purgedUsers.every(({ marker }) => filesWith(cwd, marker).length > 0);
    log(`${count(before)} bytes with ${count(users * messages)} messages of ${users} users to purge`);

    const traffic = startTraffic(
      serving,
      { app: one.keys.app, admin, otherUser, path: one.chunkPath, knowledge: one.keys.knowledge },
      readers,
    );
    const remains: string[] = [];
    const outputs: string[] = [];
    let slowest = 0;
    for (const { marker, conversations } of purgedUsers) {
      const startedAt = performance.now();
      outputs.push(await runCommand(['purge', '--app', one.ids.app, '--user', marker, '--yes'], { cwd }));
      slowest = Math.max(slowest, performance.now() - startedAt);
      remains.push(...filesWith(cwd, marker));
      for (const id of conversations) {
        const { status } = await sendRequest(serving.base, `/v1/messages?conversation_id=${id}`, one.keys.app);
        if (status !== 404) remains.push(`a page of ${id}`);
      }
    }
    const { responses, faults } = await traffic.end();
    const wrong = await indexFaults({ cwd, admin }, serving.base);
    await runCommand(['backup', 'backup.db'], { cwd });
    await runCommand(['export', 'export.ndjson'], { cwd });
    const copies = purgedUsers.flatMap(({ marker }) => filesWith(cwd, marker));
    const otherMessages = readFileSync(join(cwd, 'export.ndjson'), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('{"record":"message"') && line.includes(otherUser.marker)).length;
    const inBackup = filesWith(cwd, otherUser.marker).includes('backup.db');
    await serving.end('SIGTERM');
    const reported = outputs.filter((line) => line === `erased 3 conversations with ${messages} messages\n`).length;
    return [
      {
        promise: 'a purge under concurrent reads and writes leaves no byte of the text in any file of the database',
        measured:
          `${users} users with ${count(messages)} messages each, rewritten ${rounds} times; found again in ` +
          `${remains.length} places; the slowest purge took ${slowest.toFixed(0)} ms; ` +
          `the file went from ${count(before)} to ${count(sizeOf(cwd))} bytes`,
        holds: isStored && remains.length === 0 && reported === users && sizeOf(cwd) < before,
      },
      indexFinding('sqlite', wrong, 1),
      {
        promise: 'reads and writes continue during a purge',
        measured: `${count(responses)} responses, ${faults.length} of them wrong${faults[0] === undefined ? '' : `: ${faults[0]}`}`,
        holds: responses > 0 && faults.length === 0,
      },
      {
        promise: 'a backup and an export taken after a purge do not contain the text, and contain everything else',
        measured: `found in ${copies.length} files; ${count(otherMessages)} of ${count(messages)} messages of another user present`,
        holds: copies.length === 0 && otherMessages === messages && inBackup && isIntact(join(cwd, 'backup.db')),
      },
    ];
  });

/** Each edit adds to its history. The file, which a purge makes smaller, must not grow by as much meanwhile. */
const editMillis = 20;

type TrafficOptions = { app: string; admin: string; knowledge: string; path: string; otherUser: User };

/** Reads pages and exports of the user who is not purged, and writes, until it is ended. A write may get 503 for a while. */
function startTraffic(
  { base }: ServerProcess,
  { app, admin, knowledge, path, otherUser }: TrafficOptions,
  readers: number,
) {
  let isRunning = true;
  let responses = 0;
  const faults: string[] = [];
  const loop = async (step: (at: number) => Promise<string | undefined>) => {
    for (let at = 0; isRunning; at += 1) {
      const fault = await step(at);
      responses += 1;
      if (fault !== undefined) faults.push(fault);
    }
  };
  const page = async (at: number) => {
    const target = `/v1/messages?conversation_id=${otherUser.conversations[at % 2]}&limit=${1 + (at % 100)}`;
    const { status, text } = await sendRequest(base, target, app);
    return status === 200 && text.includes(otherUser.marker) ? undefined : `page ${status}`;
  };
  const everything = async () => {
    const { status, text } = await sendRequest(base, '/admin/records', admin);
    return status === 200 && text.endsWith('}\n') ? undefined : `export ${status}`;
  };
  const edit = async (at: number) => {
    await sleep(editMillis);
    const { status } = await sendRequest(base, path, knowledge, { method: 'PATCH', json: { content: `text ${at}` } });
    return status === 200 || status === 503 ? undefined : `edit ${status}`;
  };
  const loops = Promise.all([...Array.from({ length: readers }, () => loop(page)), loop(everything), loop(edit)]);
  return {
    end: async () => {
      isRunning = false;
      await loops;
      return { responses, faults };
    },
  };
}

/** Names of the files in the folder that contain these bytes. */
function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const file = join(folder, name);
    return statSync(file).isFile() && readFileSync(file).includes(text);
  });
}

const sizeOf = (cwd: string): number => statSync(join(cwd, 'data', 'backscroll.db')).size;

function isIntact(file: string): boolean {
  const db = new DatabaseSync(file, { readOnly: true });
  const [first] = db.prepare('PRAGMA integrity_check').all();
  db.close();
  return first?.integrity_check === 'ok';
}

export const erasure: Experiment = {
  name: 'erasure',
  long: (log) => purgeUnderLoad({ users: 8, messages: 900, rounds: 8, readers: 4 }, log),
};

import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { newFolder, newScope, run, type ServerProcess, sendRequest, serve } from '../test/support/cli-helpers.ts';
import { makeTwoTenants, message, ndjson } from '../test/support/harness.ts';
import { count, type Experiment, type Finding, type Say } from './support/experiment.ts';

type Person = ReturnType<typeof makePerson>;

/** Somebody with three conversations, one of them deleted, whose every word carries a mark. */
function makePerson(name: string, app_id: string) {
  const mark = `the-mark-of-${name}-${name}`;
  const conversations = [randomUUID(), randomUUID(), randomUUID()];
  const heads = conversations.map((id, at) => ({ record: 'conversation', id, app_id, user: mark, deleted: at === 2 }));
  const ids = new Map<number, string>();
  /** The same message in each round, with another length and time, so that rows move about in the file. */
  const words = (at: number, round: number) => {
    const id = ids.get(at) ?? randomUUID();
    ids.set(at, id);
    const length = 1 + ((at * 13 + round * 29) % 97) * (at % 10 === 0 ? 40 : 1);
    return marked(conversations[at % 3] ?? '', id, (at * 7 + round * 11) % 31, mark, length);
  };
  return { mark, conversations, heads, words };
}

/** A message that has the mark wherever a text can be. The longest do not fit into one page of the file. */
function marked(conversation_id: string, id: string, created_at: number, mark: string, length: number) {
  const ids = { id: randomUUID(), message_id: id };
  return message(conversation_id, created_at, {
    id,
    query: `${mark} asks`,
    answer: `${mark} `.repeat(length),
    inputs: { [mark]: { deep: [mark] } },
    status: 'error',
    error: mark,
    message_files: [
      {
        id: randomUUID(),
        filename: mark,
        type: 'image',
        url: `https://example.com/${mark}`,
        transfer_method: 'local_file',
      },
    ],
    retriever_resources: [
      {
        ...ids,
        position: 1,
        dataset_id: randomUUID(),
        dataset_name: mark,
        document_id: randomUUID(),
        document_name: mark,
        data_source_type: 'upload_file',
        segment_id: randomUUID(),
        score: 0.5,
        hit_count: 1,
        word_count: 1,
        segment_position: 1,
        index_node_hash: 'hash',
        content: mark,
        summary: mark,
        created_at,
      },
    ],
    agent_thoughts: [
      {
        ...ids,
        position: 1,
        thought: mark,
        tool: mark,
        tool_input: mark,
        observation: mark,
        files: [mark],
        created_at,
      },
    ],
    extra_contents: [
      {
        workflow_run_id: 'run',
        submitted: true,
        type: 'human_input',
        form_submission_data: {
          node_id: 'node',
          node_title: 'Node',
          rendered_content: mark,
          action_id: 'ok',
          action_text: mark,
        },
      },
    ],
  });
}

/**
 * People whose words were written, moved and replaced many times are erased one after another, while the service answers
 * readers and takes writes. Then every byte in every file of the folder is looked at, and those of a backup.
 */
export async function erase(
  { people, messages, rounds, readers }: { people: number; messages: number; rounds: number; readers: number },
  say: Say = () => undefined,
): Promise<Finding[]> {
  const scope = newScope();
  try {
    const cwd = await newFolder(scope);
    const { one, admin, records } = makeTwoTenants();
    const all = Array.from({ length: people + 1 }, (_, at) => makePerson(`person-${at}`, one.ids.app));
    const [stays, ...erased] = all as [Person, ...Person[]];
    await done(['import', '-'], cwd, ndjson([...records, ...all.flatMap(({ heads }) => heads)]));
    const serving = await serve(scope, { cwd });
    for (let round = 0; round < rounds; round += 1) {
      const lines = Array.from({ length: messages }, (_, at) => all.map(({ words }) => words(at, round))).flat();
      const reply = await sendRequest(serving.base, '/admin/records', admin, { method: 'POST', lines: ndjson(lines) });
      if (reply.status !== 200) throw new Error(reply.text);
    }
    const before = sizeOf(cwd);
    const isThere = erased.every(({ mark }) => filesWith(cwd, mark).length > 0);
    say(`${count(before)} bytes hold ${count(people * messages)} messages of ${people} people to be erased`);

    const traffic = keepBusy(
      serving,
      { app: one.keys.app, admin, stays, path: one.chunkPath, knowledge: one.keys.knowledge },
      readers,
    );
    const left: string[] = [];
    const said: string[] = [];
    let slowest = 0;
    for (const { mark, conversations } of erased) {
      const began = performance.now();
      said.push(await done(['purge', '--app', one.ids.app, '--user', mark, '--yes'], cwd));
      slowest = Math.max(slowest, performance.now() - began);
      left.push(...filesWith(cwd, mark));
      for (const id of conversations) {
        const { status } = await sendRequest(serving.base, `/v1/messages?conversation_id=${id}`, one.keys.app);
        if (status !== 404) left.push(`a page of ${id}`);
      }
    }
    const { answers: responses, faults } = await traffic.end();
    await done(['backup', 'backup.db'], cwd);
    await done(['export', 'export.ndjson'], cwd);
    const copies = erased.flatMap(({ mark }) => filesWith(cwd, mark));
    const kept = readFileSync(join(cwd, 'export.ndjson'), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('{"record":"message"') && line.includes(stays.mark)).length;
    const inBackup = filesWith(cwd, stays.mark).includes('backup.db');
    await serving.end('SIGTERM');
    const told = said.filter((line) => line === `erased 3 conversations with ${messages} messages\n`).length;
    return [
      {
        promise: 'a purge under readers and writers leaves no byte of the text in any file of the database',
        measured:
          `${people} people with ${count(messages)} messages each, rewritten ${rounds} times; found again in ` +
          `${left.length} places; the slowest purge ${slowest.toFixed(0)} ms; ` +
          `the file went from ${count(before)} to ${count(sizeOf(cwd))} bytes`,
        holds: isThere && left.length === 0 && told === people && sizeOf(cwd) < before,
      },
      {
        promise: 'readers and writers go on during a purge',
        measured: `${count(responses)} answers, ${faults.length} of them faulty${faults[0] === undefined ? '' : `: ${faults[0]}`}`,
        holds: responses > 0 && faults.length === 0,
      },
      {
        promise: 'a backup and an export after a purge do not hold the text, and hold the rest',
        measured: `found in ${copies.length} files; ${count(kept)} of ${count(messages)} messages of others kept`,
        holds: copies.length === 0 && kept === messages && inBackup && isWhole(join(cwd, 'backup.db')),
      },
    ];
  } finally {
    await scope.end();
  }
}

type Busy = { app: string; admin: string; knowledge: string; path: string; stays: Person };

/** Reads pages and whole exports of who stays, and writes, until it is ended. A write may be turned away for a while. */
function keepBusy({ base }: ServerProcess, { app, admin, knowledge, path, stays }: Busy, readers: number) {
  let isBusy = true;
  let responses = 0;
  const faults: string[] = [];
  const loop = async (turn: (at: number) => Promise<string | undefined>) => {
    for (let at = 0; isBusy; at += 1) {
      const fault = await turn(at);
      responses += 1;
      if (fault !== undefined) faults.push(fault);
    }
  };
  const page = async (at: number) => {
    const asked = `/v1/messages?conversation_id=${stays.conversations[at % 2]}&limit=${1 + (at % 100)}`;
    const { status, text } = await sendRequest(base, asked, app);
    return status === 200 && text.includes(stays.mark) ? undefined : `page ${status}`;
  };
  const everything = async () => {
    const { status, text } = await sendRequest(base, '/admin/records', admin);
    return status === 200 && text.endsWith('}\n') ? undefined : `export ${status}`;
  };
  const edit = async (at: number) => {
    const { status } = await sendRequest(base, path, knowledge, { method: 'PATCH', json: { content: `text ${at}` } });
    return status === 200 || status === 503 ? undefined : `edit ${status}`;
  };
  const loops = Promise.all([...Array.from({ length: readers }, () => loop(page)), loop(everything), loop(edit)]);
  return {
    end: async () => {
      isBusy = false;
      await loops;
      return { answers: responses, faults };
    },
  };
}

async function done(args: string[], cwd: string, stdin = ''): Promise<string> {
  const ran = await run(args, { cwd, stdin, millisMax: 120_000 });
  if (ran.code !== 0) throw new Error(`${args[0]}: exit code ${ran.code}: ${ran.stderr}`);
  return ran.stdout;
}

/** Whatever lies in the folder and holds these bytes. */
function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const file = join(folder, name);
    return statSync(file).isFile() && readFileSync(file).includes(text);
  });
}

const sizeOf = (cwd: string): number => statSync(join(cwd, 'data', 'backscroll.db')).size;

function isWhole(file: string): boolean {
  const db = new DatabaseSync(file, { readOnly: true });
  const [first] = db.prepare('PRAGMA integrity_check').all();
  db.close();
  return first?.integrity_check === 'ok';
}

export const erasure: Experiment = {
  name: 'erasure',
  long: (say) => erase({ people: 8, messages: 900, rounds: 8, readers: 4 }, say),
};

import { statSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { appendRequest, buildIndex, chat, importLines, purgeRequest, type Shape } from '../support/data.ts';
import { withClients } from '../support/load.ts';
import { compare, median } from '../support/pairs.ts';
import type { Bench, Result } from '../support/result.ts';
import { startHelper, startOurs } from '../support/servers.ts';

const shape: Shape = { conversations: 20_000, messages: 10, bytes: 1_000 };
const messages = shape.conversations * shape.messages;

/**
 * Goal 30: a purge rebuilds the file of the embedded engine, and writes wait meanwhile. The longest of the appends that are sent
 * one after another during a purge, compared with a bare rebuild of a copy of the file.
 */
export async function measurePurge({ folder, pairs, log }: Bench): Promise<Result[]> {
  const [file, copy] = [join(folder, 'purge.db'), join(folder, 'purge-copy.db')];
  log(`importing ${messages} messages`);
  await importLines(`sqlite:${file}`, chat(shape));
  await buildIndex(`sqlite:${file}`);
  await copyFile(file, copy);
  const bare = startHelper('bare/bare-rebuild.ts', copy);
  const { port } = await startOurs(folder, `sqlite:${file}`);
  const purgeMillis: number[] = [];
  let purges = 0;
  let appends = shape.messages;

  const longestAppend = (): Promise<number> =>
    withClients(port, 2, async ([purger, writer]) => {
      const startedAt = performance.now();
      let isPurging = true;
      const purge = purger?.request(purgeRequest((purges += 1))).then(({ status }) => {
        purgeMillis.push(performance.now() - startedAt);
        isPurging = false;
        if (status !== 200) throw new Error(`the purge has status ${status}`);
      });
      let longest = 0;
      while (isPurging) {
        const sentAt = performance.now();
        const response = await writer?.request(appendRequest(0, (appends += 1)));
        if (response?.status !== 200) throw new Error(`an append has status ${response?.status}`);
        longest = Math.max(longest, performance.now() - sentAt);
      }
      await purge;
      return longest;
    });
  const rebuild = async () => (await bare.request<{ millis: number }>({})).millis;

  log('purging a conversation beside appends, compared with a bare rebuild');
  await longestAppend();
  purgeMillis.length = 0;
  return [
    {
      ...(await compare(longestAppend, rebuild, pairs)),
      goal: 30,
      what: `the longest append beside a purge, ${messages.toLocaleString('en')} messages of 1 kB, embedded engine`,
      against: 'a bare rebuild of the same file',
      unit: 'ms',
      target: { max: 1.5 },
      notes: {
        'the purge itself, ms': Math.round(median(purgeMillis)),
        'megabytes of the file': Math.round(statSync(file).size / 1e6),
      },
    },
  ];
}

import { setTimeout as sleep } from 'node:timers/promises';
import { inScope, type Scope } from '../server/test/support/cli-helpers.ts';
import { FaultyPostgres } from '../server/test/support/faulty-postgres.ts';
import type { Engine } from '../server/test/support/harness.ts';
import { until } from '../server/test/support/until.ts';
import { Client } from './support/client.ts';
import { indexFaults, indexFinding } from './support/commands.ts';
import { count, type Experiment, type Finding, type Log, onEachEngine, some } from './support/experiment.ts';
import { Follower } from './support/follower.ts';
import { install } from './support/installation.ts';
import { Ledger } from './support/ledger.ts';
import { startLoad } from './support/load.ts';

export type FeedOptions = { engine: Engine; kills: number; log?: Log };

/** Kills the service, and on PostgreSQL the database, while clients write and others follow the change feed. */
export const killFeed = ({ engine, kills, log = () => undefined }: FeedOptions): Promise<Finding[]> =>
  inScope(async (scope) => {
    const server = engine === 'postgres' ? await FaultyPostgres.make({ fsync: 'on' }) : undefined;
    if (server !== undefined) scope.after(() => server.remove());
    await server?.start();
    return await killRepeatedly(scope, server, engine, kills, log);
  });

async function killRepeatedly(
  scope: Scope,
  server: FaultyPostgres | undefined,
  engine: Engine,
  kills: number,
  log: Log,
): Promise<Finding[]> {
  const url = await server?.newDatabase();
  const installation = await install(scope, { chunks: 4, ...(url && { url, settings: { DATABASE_TIMEOUT: '1500' } }) });
  const ledger = new Ledger(installation);
  let serving = await installation.start();
  let base: string | undefined = serving.base;
  const load = startLoad(installation, ledger, () => base);
  const followers = Array.from({ length: 2 }, () => new Follower(() => base, installation.admin));
  let isWriting = true;
  const following = followers.map(async (follower) => {
    while (isWriting) if ((await follower.step()) !== true) await sleep(5);
  });
  let databaseKills = 0;
  for (let kill = 1; kill <= kills; kill += 1) {
    await sleep(50 + Math.random() * 450);
    if (server !== undefined && kill % 2 === 0) {
      await server.end(kill % 4 === 0 ? 'SIGKILL' : 'SIGQUIT');
      await server.start();
      databaseKills += 1;
      continue;
    }
    serving.signal('SIGKILL');
    base = undefined;
    await serving.ended;
    serving = await installation.start();
    base = serving.base;
    log(`${kill} kills: ${followers[0]?.entries} entries`);
  }
  await sleep(200);
  isWriting = false;
  await Promise.all([load.stop(), ...following]);
  const client = new Client();
  const { text } = await until(async () => {
    const response = await client.request(serving.base, '/admin/records', { key: installation.admin });
    return response.status === 200 && response;
  });
  client.close();
  const faults: string[] = [];
  for (const follower of followers) {
    await follower.catchUp();
    faults.push(...(await follower.differences(text)));
    follower.close();
  }
  const wrong = await indexFaults(installation, serving.base);
  await serving.end();
  const unexpected = [...ledger.unexpected, ...followers.flatMap((follower) => follower.unexpected)];
  const { edits, appends, imports } = ledger.acknowledged();
  return [
    {
      promise: `${engine}: a reader of the change feed has what the database has`,
      measured:
        `${faults.length} records missing or wrong after ${count(edits)} edits, ${count(appends)} appends, ${count(imports)} imports, ` +
        `${kills - databaseKills} kills of serve and ${databaseKills} of the database; ${count(followers[0]?.entries ?? 0)} entries${some(faults)}`,
      holds: faults.length === 0 && edits > 0 && appends > 0,
    },
    indexFinding(engine, wrong, 1),
    {
      promise: `${engine}: every response in the meantime is 200 or 503`,
      measured: `${unexpected.length} others${some(unexpected)}`,
      holds: unexpected.length === 0,
    },
  ];
}

export const feed: Experiment = {
  name: 'feed',
  long: onEachEngine((engine, log) => killFeed({ engine, kills: engine === 'sqlite' ? 60 : 24, log })),
};

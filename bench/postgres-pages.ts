import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { chat, importLines } from './data.ts';
import { shape } from './embedded.ts';
import { anyPage, compareRates, connections, fewPages, pick, type Rate, rateOf, roundSeconds, visit } from './reads.ts';
import type { Bench, Result } from './result.ts';
import { type Helper, processorSeconds, script, startBare, startHelper, startOurs, startServer } from './servers.ts';

/** Goals 4 and 5: pages on PostgreSQL, against its driver alone and against a server with nothing behind it. */
export async function measurePostgresPages(bench: Bench): Promise<Result[]> {
  const { folder, pairs, wants, say } = bench;
  const url = await makeDatabase(bench);
  const ours = await startOurs(folder, url);
  const results: Result[] = [];
  const what = 'GET /messages, PostgreSQL';
  if (wants(4)) {
    say('pages not seen before, and the driver alone');
    const driver = startHelper('bare-driver.ts', url);
    const next = anyPage(shape);
    const figures = await compareRates(
      () => rateOf(ours, next),
      () => statementRate(driver),
      pairs,
    );
    await driver.stop();
    const against = 'a bare loop of the same driver and statement, 32 at once';
    const unit = 'pages/s';
    results.push({ goal: 4, what: `${what}, pages not seen before`, against, unit, aim: { min: 0.6 }, ...figures });
  }
  if (wants(5)) {
    say('a working set of pages');
    const few = fewPages(shape);
    const bytes = await visit(ours, few);
    await visit(ours, few);
    const bare = await startBare(folder, { bytes });
    const next = () => pick(few);
    const figures = await compareRates(
      () => rateOf(ours, next),
      () => rateOf(bare, next),
      pairs,
    );
    await bare.stop();
    const against = `bare node:http with the same ${bytes} bytes`;
    const unit = 'requests/s';
    results.push({
      ...figures,
      goal: 5,
      what: `${what}, working set of ${few.length} pages`,
      against,
      unit,
      aim: { min: 0.3 },
    });
  }
  await ours.stop();
  return results;
}

async function makeDatabase({ folder, say }: Bench): Promise<string> {
  say('starting PostgreSQL');
  const [port, password] = [await freePort(), randomBytes(12).toString('hex')];
  await startServer(folder, [script('postgres-server.ts'), join(folder, 'postgres'), `${port}`, password]);
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
  say(`importing ${shape.conversations * shape.messages} messages into PostgreSQL`);
  await importLines(url, chat(shape));
  return url;
}

async function statementRate(driver: Helper): Promise<Rate> {
  const before = processorSeconds(driver);
  const { perSecond } = await driver.ask<{ perSecond: number }>({ loops: connections, seconds: roundSeconds });
  const used = processorSeconds(driver) - before;
  return { perSecond, processorMicros: (used / (perSecond * roundSeconds)) * 1e6 };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

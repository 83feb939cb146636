import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { buildIndex, chat, importLines } from '../support/data.ts';
import { shape } from '../support/embedded.ts';
import {
  compareRates,
  connections,
  pageSet,
  pick,
  type Rate,
  randomPages,
  rateOf,
  requestEach,
  roundSeconds,
} from '../support/reads.ts';
import type { Bench, Result } from '../support/result.ts';
import {
  type Helper,
  processorSeconds,
  script,
  startBare,
  startHelper,
  startOurs,
  startServer,
} from '../support/servers.ts';

/** Goals 4 and 5: pages on PostgreSQL, compared with the driver alone and with a bare HTTP server. */
export async function measurePostgresPages(bench: Bench): Promise<Result[]> {
  const { folder, pairs, isSelected, log } = bench;
  const url = await createDatabase(bench);
  const ours = await startOurs(folder, url);
  const results: Result[] = [];
  const what = 'GET /messages, PostgreSQL';
  if (isSelected(4)) {
    log('uncached pages, and the driver alone');
    const driver = startHelper('bare/bare-driver.ts', url);
    const next = randomPages(shape);
    const measurements = await compareRates(
      () => rateOf(ours, next),
      () => statementRate(driver),
      pairs,
    );
    await driver.stop();
    const against = 'a bare loop of the same driver and statement, 32 concurrent';
    const unit = 'pages/s';
    results.push({ goal: 4, what: `${what}, uncached pages`, against, unit, target: { min: 0.68 }, ...measurements });
  }
  if (isSelected(5)) {
    log('a working set of pages');
    const pages = pageSet(shape);
    const bytes = await requestEach(ours, pages);
    await requestEach(ours, pages);
    const bare = await startBare(folder, { bytes });
    const next = () => pick(pages);
    const measurements = await compareRates(
      () => rateOf(ours, next),
      () => rateOf(bare, next),
      pairs,
    );
    await bare.stop();
    const against = `bare node:http with the same ${bytes} bytes`;
    const unit = 'requests/s';
    results.push({
      ...measurements,
      goal: 5,
      what: `${what}, working set of ${pages.length} pages`,
      against,
      unit,
      target: { min: 0.3 },
    });
  }
  await ours.stop();
  return results;
}

async function createDatabase({ folder, log }: Bench): Promise<string> {
  log('starting PostgreSQL');
  const [port, password] = [await freePort(), randomBytes(12).toString('hex')];
  await startServer(folder, [script('support/postgres-server.ts'), join(folder, 'postgres'), `${port}`, password]);
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
  log(`importing ${shape.conversations * shape.messages} messages into PostgreSQL`);
  await importLines(url, chat(shape));
  await buildIndex(url);
  return url;
}

async function statementRate(driver: Helper): Promise<Rate> {
  const before = processorSeconds(driver);
  const { perSecond } = await driver.request<{ perSecond: number }>({ loops: connections, seconds: roundSeconds });
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

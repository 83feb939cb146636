import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { pagesDatabase, shape } from '../support/databases.ts';
import { type Bench, group } from '../support/goal.ts';
import { comparisonOf, interleave, median, quantile } from '../support/pairs.ts';
import { fullOr } from '../support/quick.ts';
import { connections, randomPages, rateOf, warmSeconds } from '../support/reads.ts';
import { type Server, startHelper, startOurs } from '../support/servers.ts';
import { sendAtRate } from '../support/steady-load.ts';
import { decimals } from '../support/table.ts';

const seconds = fullOr(2.5, 0.5);
/** The clients that edit start before the measurement and end after it. */
const marginSeconds = 0.25;
/** The service writes its log a few milliseconds later. */
const logMillis = 300;

/**
 * The 99th percentile of pages beside edits, by two clocks. That of the service starts when a request is parsed and ends when its
 * response has been passed to the system; that of the clients has the wait for a processor, too, which they share with the service.
 */
export const readsBesideWrites = group({
  goals: {
    own: {
      what: '99th percentile of uncached pages at a fifth of the capacity while 64 clients PATCH, by the clock of the service',
      against: 'the same without PATCH',
      why: 'readers wait for no disk and no lock; what is left is sharing a thread with the writes’ requests',
      target: { max: 2 },
    },
    clients: {
      what: 'the same, as the clients see it',
      against: 'the same without PATCH',
      why: 'here four busy threads share two cores, so it is mostly the wait for a processor',
    },
  },
  prepare: pagesDatabase,
  measure,
});

type Slowest = { own: number; clients: number };

async function measure(bench: Bench) {
  const ours = await startOurs(bench.folder, `sqlite:${await pagesDatabase(bench)}`);
  const clients = startHelper('support/write-load.ts', `${ours.port}`, 'edit');
  const next = randomPages(shape);
  await rateOf(ours, next, warmSeconds);
  const perSecond = (await rateOf(ours, next, warmSeconds)).perSecond / 5;
  const edits: number[] = [];

  const read = async (): Promise<Slowest> => {
    const { size } = statSync(ours.log);
    const millis = await sendAtRate({ port: ours.port, next, connections, seconds, perSecond });
    await sleep(logMillis);
    return { clients: quantile(millis, 0.99), own: quantile(loggedMillis(ours, size), 0.99) };
  };
  const readBesideEdits = async (): Promise<Slowest> => {
    const editing = clients.request<{ perSecond: number }>({ seconds: seconds + 2 * marginSeconds });
    await sleep(marginSeconds * 1000);
    const slowest = await read();
    edits.push((await editing).perSecond);
    return slowest;
  };

  await readBesideEdits();
  const [beside, alone]: [Slowest[], Slowest[]] = [[], []];
  const recorded = (measureOne: () => Promise<Slowest>, list: Slowest[]) => async () => list.push(await measureOne());
  await interleave([recorded(readBesideEdits, beside), recorded(read, alone)]);
  await clients.stop();
  await ours.stop();
  const by = (clock: keyof Slowest) => ({
    ...comparisonOf(
      beside.map((one) => one[clock]),
      alone.map((one) => one[clock]),
    ),
    unit: 'ms',
    note: `${decimals(perSecond)} pages/s, ${decimals(median(edits))} edits/s`,
  });
  return { own: by('own'), clients: by('clients') };
}

/** The time of each page, as the service has logged it. */
function loggedMillis({ log }: Server, from: number): number[] {
  const bytes = Buffer.alloc(statSync(log).size - from);
  const file = openSync(log, 'r');
  readSync(file, bytes, 0, bytes.length, from);
  closeSync(file);
  const ofPages = /"route":"\/v1\/messages","status":200,"ms":([\d.]+)/g;
  return [...bytes.toString('latin1').matchAll(ofPages)].map(([, millis]) => Number(millis));
}

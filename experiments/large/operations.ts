import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { inScope, type ServerProcess, serve } from '../../server/test/support/cli-helpers.ts';
import type { Engine } from '../../server/test/support/harness.ts';
import {
  count,
  type Experiment,
  type Finding,
  importFile,
  type Log,
  onEachEngine,
  some,
} from '../support/experiment.ts';
import { measureMemory, memoryProbe } from '../support/memory.ts';
import { watchService } from '../support/watch.ts';
import { type LargeFixture, largeMessages, writeLargeRecords } from './fixture.ts';

const heldMillisMax = 500;
/** How long clients that do not read stay connected. */
const unreadMillis = 3_000;
/** Of what a service that has ended has written. */
const outputUnits = 2_000;
/** The longest ones that the report names. */
const namedMax = 4;

export type LargeOperationsOptions = {
  engine: Engine;
  records: number;
  recordBytes: number;
  /** Only these operations. */
  only?: readonly string[];
};

type Mode = { name: string; clients: number; isRead: boolean; mebibytesMax: number };
const modes: readonly Mode[] = [
  { name: 'one request', clients: 1, isRead: true, mebibytesMax: 700 },
  { name: 'four at once', clients: 4, isRead: true, mebibytesMax: 900 },
  { name: '500 at once that are not read', clients: 500, isRead: false, mebibytesMax: Number.POSITIVE_INFINITY },
];

type Operation = { id: string; path: string; key: string; body?: Buffer };
type Measured = { id: string; heldMillis: number; mebibytes: number; wrong: string[] };

/** Every operation that reads, and appends, with the largest records that an import accepts. The search is in `large-records`. */
export async function callLargeOperations(options: LargeOperationsOptions, log: Log): Promise<Finding[]> {
  const { engine, records, recordBytes, only } = options;
  return inScope(async (scope) => {
    const write = (file: string) => writeLargeRecords(file, records, recordBytes);
    const { cwd, env, fixture } = await importFile(scope, engine, write, { SEARCH: 'off', ...memoryProbe });
    const service = await serve(scope, { cwd, env });
    const body = Buffer.from(largeMessages(fixture));
    const append = { id: 'importRecords', path: '/admin/records', key: fixture.one.keys.writer, body };
    const operations = [...(await operationsOf(service.base, fixture)), append].filter(
      ({ id }) => only?.includes(id) ?? true,
    );
    const findings: Finding[] = [];
    for (const mode of modes) {
      const measured: Measured[] = [];
      for (const operation of operations) {
        const one = await Promise.race([measure(service, operation, mode), endOf(service, operation)]);
        log(`${engine}, ${mode.name}, ${one.id}: ${one.heldMillis.toFixed(0)} ms, ${one.mebibytes.toFixed(0)} MiB`);
        measured.push(one);
      }
      findings.push(...judge(engine, mode, measured));
    }
    return findings;
  });
}

type Parameter = { name: string; in: string; required?: boolean; schema: { maximum?: number } };
type Documented = { operationId: string; security?: Record<string, unknown>[]; parameters?: Parameter[] };

const left = new Set(['search', 'countSearchResults', 'searchUserMessages', 'getSession', 'live', 'ready']);

/** The operations of the OpenAPI document that read, with the parameters for the largest response. */
async function operationsOf(base: string, fixture: LargeFixture): Promise<Operation[]> {
  const { paths }: { paths: Record<string, { get?: Documented }> } = await (await fetch(`${base}/openapi.json`)).json();
  const { ids, keys } = fixture.one;
  const values: Record<string, string> = {
    ...{ app_id: ids.app, workspace_id: ids.workspace, dataset_id: ids.dataset, document_id: ids.document },
    ...{ segment_id: ids.segment, child_chunk_id: ids.chunk, conversation_id: fixture.conversation },
    ...{ message_id: fixture.message, model_type: 'llm', include: 'record' },
    item_id: `msg_${fixture.message.replaceAll('-', '')}_0`,
  };
  const keyOf: Record<string, string> = { appKey: keys.app, knowledgeKey: keys.knowledge, writerKey: keys.writer };
  return Object.entries(paths).flatMap(([template, { get }]): Operation[] => {
    if (get === undefined || left.has(get.operationId)) return [];
    const path = template.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? 'none');
    const query = (get.parameters ?? []).flatMap(({ name, in: place, required, schema }) => {
      if (place !== 'query') return [];
      if (name === 'limit') return [`limit=${schema.maximum}`];
      return required ? [`${name}=${values[name] ?? 'none'}`] : [];
    });
    const [scheme = ''] = Object.keys(get.security?.[0] ?? {});
    return [{ id: get.operationId, path: `${path}?${query.join('&')}`, key: keyOf[scheme] ?? fixture.admin }];
  });
}

async function endOf({ ended, output }: ServerProcess, { id }: Operation): Promise<never> {
  const { code, signal } = await ended;
  throw new Error(`the service ended in ${id}: ${code ?? signal} ${output().slice(-outputUnits)}`);
}

async function measure(service: ServerProcess, operation: Operation, mode: Mode): Promise<Measured> {
  await measureMemory(service, 0);
  const watch = watchService(service.base, service.pid, '/health/live');
  await watch.started;
  const statuses = await Promise.all(
    Array.from({ length: mode.clients }, () => request(service.base, operation, mode.isRead)),
  );
  const { heldMillis, peakMebibytes } = await watch.end();
  const wrong = statuses
    // 400: suggested questions are asked for.
    .filter((status) => ![200, 400, 404, 503].includes(status))
    .map((status) => `${operation.id} ${status}`);
  return { id: operation.id, heldMillis, mebibytes: peakMebibytes, wrong };
}

/** The status; 0 without a response. A body of which the response is not read stays unfinished. */
async function request(base: string, { path, key, body }: Operation, isRead: boolean): Promise<number> {
  const type = body && { 'content-type': 'application/x-ndjson', 'content-length': body.length };
  const headers = { authorization: `Bearer ${key}`, ...type };
  const sent = http.request(`${base}${path}`, { method: body ? 'POST' : 'GET', agent: false, headers });
  sent.on('error', () => undefined);
  if (isRead || body === undefined) sent.end(body);
  else sent.write(body.subarray(0, -1));
  const timer = isRead ? undefined : setTimeout(() => sent.destroy(), unreadMillis);
  try {
    const [response] = (await once(sent, 'response')) as [http.IncomingMessage];
    if (isRead) for await (const _ of response);
    else await sleep(unreadMillis);
    return response.statusCode ?? 0;
  } catch {
    return isRead ? 0 : 503;
  } finally {
    clearTimeout(timer);
    sent.destroy();
  }
}

function judge(engine: Engine, { name, mebibytesMax }: Mode, measured: readonly Measured[]): Finding[] {
  const most = (amountOf: (one: Measured) => number, unit: string): string =>
    [...measured]
      .sort((one, other) => amountOf(other) - amountOf(one))
      .slice(0, namedMax)
      .map((one) => `${one.id} ${count(Math.round(amountOf(one)))} ${unit}`)
      .join(', ');
  const wrong = measured.flatMap((one) => one.wrong);
  const held = (one: Measured) => one.heldMillis;
  const memory = (one: Measured) => one.mebibytes;
  return [
    {
      promise: `${engine}, ${name}: no operation holds a health check for more than ${heldMillisMax} ms of processor time`,
      measured: `${measured.length} operations, ${wrong.length} without a response${some(wrong)}: ${most(held, 'ms')}`,
      holds: wrong.length === 0 && measured.every((one) => held(one) <= heldMillisMax),
    },
    {
      promise: Number.isFinite(mebibytesMax)
        ? `${engine}, ${name}: private memory stays below ${mebibytesMax} MiB`
        : `no promise, only measured: ${engine}, ${name}: private memory`,
      measured: most(memory, 'MiB'),
      holds: measured.every((one) => memory(one) < mebibytesMax),
    },
  ];
}

export const largeOperations: Experiment = {
  name: 'large-operations',
  long: onEachEngine((engine, log) =>
    callLargeOperations({ engine, records: engine === 'sqlite' ? 100 : 40, recordBytes: 4_190_000 }, log),
  ),
};

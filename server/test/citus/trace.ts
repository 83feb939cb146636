import assert from 'node:assert/strict';
import { type Notice, startProxy } from '../store/recording-proxy.ts';
import { newDatabaseUrl, type Service, startService } from '../support/harness.ts';

/**
 * Plans and remote commands of the coordinator for each operation, as it reports them itself: `citus.log_remote_commands`
 * and debug messages arrive as notices, which a proxy reads along.
 */

type Request = () => Promise<{ status: number }>;

/** Enough for every prepared statement to get the plan that it keeps. */
const warmUp = 8;

/** These tables are on one node, whichever it is. */
const onOneNode = /public\.(?:search_citations|key_requests)_\d/;

export type Trace = {
  /** Statements that were sent to nodes, without those on tables that are on one node. */
  commands: string[];
  oneNodeCount: number;
  nodes: Set<string | undefined>;
  /** Statements with a plan of their own, and those of them on the fast path. */
  planCount: number;
  fastCount: number;
  subplanCount: number;
};

export type TracedService = {
  service: Service;
  /** Of all requests: statements of the service, each with the nodes that its server has asked. */
  statements(): { text: string; values: (string | null)[]; nodes: Set<string> }[];
  /** Statements of one more request, when the statements are prepared. */
  trace(request: Request): Promise<Trace>;
  /** Forgets what was reported so far. */
  reset(): void;
  close(): Promise<void>;
};

/** A service on its own database with one connection, and few statements in the background. */
export async function startTracedService(): Promise<TracedService> {
  const { url, remove } = await newDatabaseUrl('postgres');
  const options = encodeURIComponent('-c citus.log_remote_commands=on -c client_min_messages=debug4');
  const { notices, close, traffic, ...proxy } = await startProxy(url);
  const service = await startService(
    'postgres',
    { DATABASE_POOL: '1', AUDIT_READS: 'off' },
    `${proxy.url}?options=${options}`,
  );
  const count = (pattern: RegExp) => notices.filter((notice) => pattern.test(notice.message)).length;
  return {
    service,
    statements: () => {
      const byStatement = Map.groupBy(notices, ({ statement }) => statement);
      return traffic.statements.map((statement) => ({
        ...statement,
        nodes: new Set((byStatement.get(statement) ?? []).flatMap((notice) => nodeOf(notice) ?? [])),
      }));
    },
    trace: async (request) => {
      for (let times = 0; times < warmUp; times += 1) {
        const { status } = await request();
        assert.ok((status >= 200 && status < 300) || status === 304, `status ${status}`);
      }
      notices.length = 0;
      await request();
      const issued = notices.filter((notice) => notice.message.startsWith('issuing '));
      const remoteNotices = issued.filter((notice) => !onOneNode.test(notice.message));
      return {
        commands: remoteNotices.map((notice) => notice.message.replace('issuing ', '')),
        oneNodeCount: issued.length - remoteNotices.length,
        nodes: new Set(remoteNotices.map(nodeOf)),
        planCount: count(/^Creating router plan/),
        fastCount: count(/fast-path router query/),
        subplanCount: count(/subplan/i),
      };
    },
    reset: () => {
      notices.length = 0;
    },
    close: async () => {
      await service.close();
      await close();
      await remove();
    },
  };
}

const nodeOf = ({ detail = '' }: Notice): string | undefined => /on server \S*?@(\S+)/.exec(detail)?.[1];

/** Tables in the order in which they are used. */
export const tables = ({ commands }: Trace): string[] =>
  commands.flatMap((text) => /\b(?:FROM|INTO|UPDATE|JOIN) public\.([a-z_]+)_\d+/.exec(text)?.[1] ?? []);

/** Each shard that is used, as its table and its number. */
export const shardsOf = ({ commands }: Trace): string[] => [
  ...new Set(commands.flatMap((text) => [...text.matchAll(/public\.([a-z_]+_\d+)/g)].map(([, shard = '']) => shard))),
];

export function assertOneShard(result: Trace): void {
  assert.equal(result.nodes.size, 1, [...result.nodes].join());
  assert.equal(result.subplanCount, 0);
  for (const command of result.commands)
    assert.doesNotMatch(command, /PREPARE TRANSACTION|intermediate_result|COPY/, result.commands.join('\n'));
  const shards = shardsOf(result);
  // One shard of each table; all tables are colocated.
  assert.equal(new Set(shards.map((shard) => shard.replace(/_\d+$/, ''))).size, shards.length, shards.join());
}

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { indexDifferences } from '../../server/test/search/index-differences.ts';
import { type CommandResult, run, type Settings } from '../../server/test/support/cli-helpers.ts';
import { ndjson } from '../../server/test/support/harness.ts';
import { until } from '../../server/test/support/until.ts';
import { Client } from './client.ts';
import { type Finding, some } from './experiment.ts';
import type { Installation } from './installation.ts';
import { compareExport, type Discrepancies, type Ledger, replacementRecords } from './ledger.ts';

export type CommandOptions = {
  /** Send SIGKILL after this many milliseconds, if the command runs that long. */
  killAfter?: number;
  /** The command may fail because the database is unavailable. */
  mayFail?: boolean;
};

/** Commands that run beside the service, on the same database. Their output is their acknowledgement. */
export class Commands {
  readonly #installation: Installation;
  readonly #ledger: Ledger;
  #started = 0;
  #kills = 0;

  constructor(installation: Installation, ledger: Ledger) {
    this.#installation = installation;
    this.#ledger = ledger;
  }

  /** Number of killed commands. */
  get kills(): number {
    return this.#kills;
  }

  /** Runs the next command: in turn an import, a new key, a revocation. */
  async next(options: CommandOptions = {}): Promise<void> {
    const kinds = [() => this.#import(options), () => this.#createKey(options), () => this.#revokeKey(options)];
    await kinds[this.#started++ % kinds.length]?.();
  }

  async #run(args: string[], { killAfter, mayFail }: CommandOptions): Promise<CommandResult> {
    const { cwd, env } = this.#installation;
    const ran = await run(args, { cwd, env, millisMax: killAfter ?? 60_000 });
    if (ran.signal === 'SIGKILL' && killAfter !== undefined) this.#kills += 1;
    else if (ran.code !== 0 && !mayFail)
      this.#ledger.unexpected.push(`${args[0]}: exit code ${ran.code}: ${ran.stderr}`);
    return ran;
  }

  async #import(options: CommandOptions): Promise<void> {
    const { cwd, one } = this.#installation;
    const replaced = this.#ledger.byCommand;
    const number = (replaced.sent += 1);
    const file = join(cwd, 'records.ndjson');
    await writeFile(file, ndjson(replacementRecords(replaced, one.ids.conversation, number)));
    const { stdout } = await this.#run(['import', file], options);
    if (stdout.startsWith('imported ')) replaced.acknowledged.push(number);
  }

  async #createKey(options: CommandOptions): Promise<void> {
    const { one } = this.#installation;
    const args = ['keys', 'create', '--kind', 'app', '--app', one.ids.app, '--json'];
    const { stdout } = await this.#run(args, options);
    if (stdout.endsWith('\n')) this.#ledger.keys.push({ ...JSON.parse(stdout), revocation: 'none' });
  }

  async #revokeKey(options: CommandOptions): Promise<void> {
    const key = this.#ledger.keys.find(({ revocation }) => revocation !== 'acknowledged');
    if (key === undefined) return;
    key.revocation = 'requested';
    const { stdout } = await this.#run(['keys', 'revoke', key.id], options);
    if (stdout.startsWith('revoked ')) key.revocation = 'acknowledged';
  }
}

/** Compares the data and keys of a running service with the ledger, and adds the discrepancies. */
export async function checkServed(
  installation: Installation,
  ledger: Ledger,
  base: string,
  discrepancies: Discrepancies,
): Promise<void> {
  const client = new Client();
  const { text } = await until(async () => {
    const response = await client.request(base, '/admin/records', { key: installation.admin });
    return response.status === 200 && response;
  });
  const { lost, torn } = compareExport(ledger, text);
  client.close();
  discrepancies.lost.push(...lost, ...(await keysWithWrongAccess(installation, ledger, base)));
  discrepancies.torn.push(...torn);
}

/** Waits until everything is indexed, then compares the index of the search with one that is built from all records: the differences. */
export async function indexFaults(
  { cwd, env = {}, admin }: { cwd: string; env?: Settings; admin: string },
  base: string,
): Promise<string[]> {
  const client = new Client();
  await until(
    async () => {
      const { status, text } = await client.request(base, '/metrics', { key: admin });
      return (
        status === 200 &&
        /^backscroll_search_building 0$/m.test(text) &&
        /^backscroll_search_lag_changes 0$/m.test(text)
      );
    },
    () => 'everything is indexed',
  );
  client.close();
  const url = env.DATABASE_URL ?? `sqlite:${join(cwd, 'data', 'backscroll.db')}`;
  const reindex = async () => {
    const { code, stderr } = await run(['reindex'], { cwd, env });
    assert.equal(code, 0, stderr);
  };
  return indexDifferences(url.startsWith('sqlite:') ? 'sqlite' : 'postgres', url, reindex);
}

export const indexFinding = (engine: string, faults: readonly string[], checks: number): Finding => ({
  promise: `${engine}: the index of the search has the words of all records, and no others`,
  measured: `${faults.length} differences in ${checks} checks of the whole index${some(faults)}`,
  holds: checks > 0 && faults.length === 0,
});

/** Created keys that are rejected, and revoked keys that are accepted. */
export async function keysWithWrongAccess({ one }: Installation, ledger: Ledger, base: string): Promise<string[]> {
  const client = new Client();
  const page = `/v1/messages?conversation_id=${one.ids.conversation}&limit=1`;
  const wrong: string[] = [];
  for (const { id, secret, revocation } of ledger.keys) {
    const status = await until(async () => {
      const response = await client.request(base, page, { key: secret });
      return response.status !== 503 && response.status;
    });
    const isAccepted = status === 200;
    if (revocation === 'none' && !isAccepted) wrong.push(`key ${id} is rejected`);
    if (revocation === 'acknowledged' && isAccepted) wrong.push(`revoked key ${id} is accepted`);
  }
  client.close();
  return wrong;
}

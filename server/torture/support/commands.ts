import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CommandResult, run } from '../../test/support/cli-helpers.ts';
import { ndjson } from '../../test/support/harness.ts';
import { until } from '../../test/support/until.ts';
import { Client } from './client.ts';
import type { Installation } from './installation.ts';
import { type Audit, audit, type Ledger, replacing } from './ledger.ts';

export type CommandTurn = {
  /** Killed with SIGKILL after so long, if it runs that long. */
  killAfter?: number;
  /** A command may fail where the database is away. */
  mayFail?: boolean;
};

/** Commands beside the service, on the same database. What they print is what they acknowledge. */
export class Commands {
  readonly #installation: Installation;
  readonly #ledger: Ledger;
  #turns = 0;
  #kills = 0;

  constructor(installation: Installation, ledger: Ledger) {
    this.#installation = installation;
    this.#ledger = ledger;
  }

  /** How many were killed. */
  get kills(): number {
    return this.#kills;
  }

  /** One after another: an import, a new key, a revocation. */
  async next(turn: CommandTurn = {}): Promise<void> {
    const kinds = [() => this.#import(turn), () => this.#createKey(turn), () => this.#revokeKey(turn)];
    await kinds[this.#turns++ % kinds.length]?.();
  }

  async #run(args: string[], { killAfter, mayFail }: CommandTurn): Promise<CommandResult> {
    const { cwd, env } = this.#installation;
    const ran = await run(args, { cwd, env, millisMax: killAfter ?? 60_000 });
    if (ran.signal === 'SIGKILL' && killAfter !== undefined) this.#kills += 1;
    else if (ran.code !== 0 && !mayFail) this.#ledger.wrong.push(`${args[0]}: exit code ${ran.code}: ${ran.stderr}`);
    return ran;
  }

  async #import(turn: CommandTurn): Promise<void> {
    const { cwd, one } = this.#installation;
    const replaced = this.#ledger.byCommand;
    const number = (replaced.sent += 1);
    const file = join(cwd, 'records.ndjson');
    await writeFile(file, ndjson(replacing(replaced, one.ids.conversation, number)));
    const { stdout } = await this.#run(['import', file], turn);
    if (stdout.startsWith('imported ')) replaced.acknowledged.push(number);
  }

  async #createKey(turn: CommandTurn): Promise<void> {
    const { one } = this.#installation;
    const args = ['keys', 'create', '--kind', 'app', '--app', one.ids.app, '--json'];
    const { stdout } = await this.#run(args, turn);
    if (stdout.endsWith('\n')) this.#ledger.keys.push({ ...JSON.parse(stdout), revocation: 'none' });
  }

  async #revokeKey(turn: CommandTurn): Promise<void> {
    const key = this.#ledger.keys.find(({ revocation }) => revocation !== 'acknowledged');
    if (key === undefined) return;
    key.revocation = 'asked';
    const { stdout } = await this.#run(['keys', 'revoke', key.id], turn);
    if (stdout.startsWith('revoked ')) key.revocation = 'acknowledged';
  }
}

/** Adds what a service that runs has lost, or left half done, of what was acknowledged; its keys included. */
export async function auditServed(
  installation: Installation,
  ledger: Ledger,
  base: string,
  seen: Audit,
): Promise<void> {
  const client = new Client();
  const { text } = await until(async () => {
    const told = await client.ask(base, '/admin/records', { key: installation.admin });
    return told.status === 200 && told;
  });
  const { lost, torn } = audit(ledger, text);
  client.close();
  seen.lost.push(...lost, ...(await misjudgedKeys(installation, ledger, base)));
  seen.torn.push(...torn);
}

/** Keys that were shown and do not open, and keys that were revoked and do. */
export async function misjudgedKeys({ one }: Installation, ledger: Ledger, base: string): Promise<string[]> {
  const client = new Client();
  const page = `/v1/messages?conversation_id=${one.ids.conversation}&limit=1`;
  const wrong: string[] = [];
  for (const { id, secret, revocation } of ledger.keys) {
    const status = await until(async () => {
      const told = await client.ask(base, page, { key: secret });
      return told.status !== 503 && told.status;
    });
    const isOpen = status === 200;
    if (revocation === 'none' && !isOpen) wrong.push(`key ${id} does not open`);
    if (revocation === 'acknowledged' && isOpen) wrong.push(`revoked key ${id} opens`);
  }
  client.close();
  return wrong;
}

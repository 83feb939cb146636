import type { Sessions, StoredSession } from '../../domain/store/keys.ts';
import type { Engine } from '../base/engine.ts';
import { findSession } from './session-statements.ts';

export class SqlSessions implements Sessions {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async find(digest: string, now: number): Promise<StoredSession | undefined> {
    const [row] = await this.#engine.read(findSession, digest, now, now);
    if (row === undefined) return undefined;
    const { key_id, name, expires_at, key_expires_at, read_only, role } = row;
    const end = Math.min(expires_at, key_expires_at ?? expires_at);
    return { key_id, name, expires_at: end, read_only: read_only === 1, role };
  }
}

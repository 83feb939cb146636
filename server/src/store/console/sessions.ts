import type { Sessions, StoredSession } from '../../domain/store/keys.ts';
import type { Engine } from '../base/engine.ts';
import { findSession } from './session-statements.ts';

export class SqlSessions implements Sessions {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async find(digest: string, now: number): Promise<StoredSession | undefined> {
    const [row] = await this.#engine.read(findSession, now, digest, now);
    if (row === undefined) return undefined;
    const { expires_at, key_expires_at, read_only, ...session } = row;
    const end = Math.min(expires_at, key_expires_at ?? expires_at);
    return { ...session, expires_at: end, read_only: read_only === 1 } as StoredSession;
  }
}

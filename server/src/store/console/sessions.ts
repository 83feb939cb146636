import type { Sessions, StoredSession } from '../../domain/store/keys.ts';
import type { ReadEngine } from '../base/engine.ts';
import { findSession } from './session-statements.ts';

export const sessions = (engine: ReadEngine): Sessions => ({
  find: async (digest, now) => {
    const [row] = await engine.read(findSession, now, digest, now);
    if (row === undefined) return undefined;
    const { expires_at, key_expires_at, read_only, ...session } = row;
    const end = Math.min(expires_at, key_expires_at ?? expires_at);
    return { ...session, expires_at: end, read_only: read_only === 1 } as StoredSession;
  },
});

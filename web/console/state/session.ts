import { createContext, useContext } from '../../shared/dom.ts';
import type { ConsoleSession } from './types.ts';

export const noSession: ConsoleSession = { key_id: '', name: '', expires_at: 0, read_only: false };
export const SessionContext = createContext(noSession);

/** Whether the session allows writes: else no view offers them. */
export const useMayWrite = (): boolean => !useContext(SessionContext).read_only;

import { entryIds } from '../../domain/store/audit.ts';

/** The id of a new entry of this thread. */
export const newEntryId = entryIds(() => Date.now());

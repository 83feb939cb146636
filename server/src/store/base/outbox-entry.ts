import type { ChangeKind } from '../../contract/change.ts';

/**
 * Changed records of one kind. `scope` is the part of a record's identity besides its id: the dataset of a document, segment
 * or child chunk, the conversation of a message, the workspace of a model provider, of an erasure see `isErasure`, else ''. `owner` is the app or dataset
 * that the records belong to; null if it is the scope, or if there is none.
 */
export type OutboxEntry = [kind: ChangeKind, scope: string, owner: string | null, ids: string[]];

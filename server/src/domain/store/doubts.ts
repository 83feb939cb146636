/**
 * An object that another system has changed, and that could not be stored here in time. `scope` is its app or dataset, or
 * empty if that is not known, as `conversation_id`. `kind` is `app` if it is not known what has changed. `at` is in milliseconds.
 */
export type Doubt = {
  scope: string;
  kind: 'app' | 'conversation' | 'message' | 'child_chunk';
  id: string;
  conversation_id: string;
  at: number;
};

/**
 * Objects in doubt are not served from here. The version of a conversation shows that it is in doubt, so that reading a page of
 * its messages needs no other read.
 */
export interface Doubts {
  /** The oldest ones. */
  list(limit: number): Promise<Doubt[]>;
  ofConversations(conversation_ids: readonly string[]): Promise<Doubt[]>;
  /** Whether something of an app or a dataset is in doubt, or something of which the app is not known. */
  exist(scope: string): Promise<boolean>;
  count(): Promise<number>;
}

/** No other version begins with it. */
export const doubtMark = '~';

/** For the version of a conversation, or the tag of a page of it. */
export const isInDoubt = (version: string): boolean => version.startsWith(doubtMark);

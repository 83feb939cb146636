import type { Doubt } from './store/doubts.ts';

/** Something that the system that owns the data has changed. Ids of its scope and conversation are empty if they are not known. */
export type ChangedObject = Omit<Doubt, 'at' | 'kind'> & { kind: Exclude<Doubt['kind'], 'app'> };

/** Another system that owns the data: what it stores is copied here. */
export interface Owner {
  /** Whether everything was copied once. */
  readonly isComplete: boolean;
  /** The end of a response waits this long for what it has changed. */
  readonly heldMillisMax: number;
  /** Reads an object again and stores it here. False if that was not possible within `heldMillisMax`. */
  store(object: ChangedObject): Promise<boolean>;
  /** Whether a record comes from that system. */
  owns(kind: 'app' | 'dataset', id: string): Promise<boolean>;
  close(): Promise<void>;
}

import { type ChangeKind, changeKinds } from '../../contract/change.ts';
import { isComparable } from '../cursor.ts';
import { clientDisconnected, invalidParam, notFound, ServiceError } from '../errors.ts';
import type { ChangePosition, ChangeSelection, ChangesHead, FoundChange } from '../store/change-reads.ts';
import type { Store } from '../store/store.ts';

/** A page of the change feed: its entries as JSON texts, each with its cursor. It must be closed. */
export type ChangePage = {
  entries: { cursor: string; json: string }[];
  cursor: string;
  /** Start of the next page. */
  next: ChangePlace;
  hasMore: boolean;
  /** Whether it is one of the few large pages in memory, until it is closed. */
  isLarge: boolean;
  close(): void;
};

/** The epoch while the feed is off. No cursor has it. */
export const offEpoch = 'off';

/**
 * To be called before the first write, if the feed is off, and when the service starts. Changes were missed while the
 * feed was off, so it begins again with a new epoch. `warn` gets what the operator of other processes has to know.
 */
export async function switchFeed(store: Store, isOn: boolean, warn: (text: string) => void): Promise<void> {
  const isOff = (await store.changes.head()).epoch === offEpoch;
  if (isOn && isOff) await store.changes.startEpoch();
  if (isOn || isOff) return;
  await store.changes.startEpoch(offEpoch);
  warn('CHANGES=off has turned off the change feed and the search of all processes of this database');
}

/** Makes all cursors invalid. */
export async function startEpoch(store: Store): Promise<void> {
  requireOn(await store.changes.head());
  await store.changes.startEpoch();
}

function requireOn(head: ChangesHead): ChangesHead {
  if (head.epoch === offEpoch) throw notFound('the change feed is off (CHANGES=off)');
  return head;
}

/** Position of a reader in an epoch. */
export type ChangePlace = ChangePosition & { epoch: string };

/** Start of a request: at a cursor, with an initial snapshot of the tables, or after everything that was committed. */
export async function startOf(store: Store, after: string | undefined): Promise<ChangePlace> {
  // Earlier commits are sequenced first: the snapshot shows them, so they are not listed again after it.
  if (after === undefined || after === 'now') {
    const { epoch, position } = requireOn(await store.changes.sequenceIfPossible());
    return after === 'now' ? { epoch, position } : { epoch, position, snapshot: { kind: changeKinds[0], key: [] } };
  }
  const head = requireOn(await store.changes.head());
  const place = parseCursor(after, head);
  if (place === undefined) throw cursorGone();
  return { epoch: head.epoch, ...place };
}

const cursorGone = () => new ServiceError('cursor_gone', 'the cursor is no longer valid: start again without it');

/** Throws if another epoch has begun since the start: changes after this place may not be those that follow it. */
export async function readChanges(store: Store, start: ChangePlace, selection: ChangeSelection): Promise<ChangePage> {
  const { epoch } = start;
  if (epoch !== requireOn(await store.changes.head()).epoch) throw cursorGone();
  let place: ChangePosition = start;
  // A snapshot passes tables and rows that the reader may not see. A few steps find the next that it may see.
  for (let step = 1; ; step += 1) {
    if (selection.signal.aborted) throw clientDisconnected();
    const { changes, next, hasMore, bytes, close } = await store.changes.read(place, selection);
    if (changes.length > 0 || !hasMore || step === stepsMax) {
      const entries = changes.map((change) => render(change, epoch));
      const isLarge = bytes > selection.wholeBytesMax;
      return { entries, cursor: cursorOf(next, epoch), next: { epoch, ...next }, hasMore, isLarge, close };
    }
    close();
    place = next;
  }
}

const stepsMax = 20;

function render(change: FoundChange, epoch: string): ChangePage['entries'][number] {
  const { kind, id, time, path, gone, line = 'null' } = change;
  const cursor = cursorOf(change.at, epoch);
  const entry = JSON.stringify({ cursor, kind, id, at: time, gone, path });
  return { cursor, json: `${entry.slice(0, -1)},"record":${line}}` };
}

export function cursorOf({ position, snapshot }: ChangePosition, epoch: string): string {
  const start = `${epoch}.${position}`;
  if (snapshot === undefined) return start;
  return `${start}.${Buffer.from(JSON.stringify([snapshot.kind, ...snapshot.key])).toString('base64url')}`;
}

const cursorPattern = /^([0-9A-Za-z_-]{1,64})\.(0|[1-9]\d{0,15})(?:\.([A-Za-z0-9_-]{2,8000}))?$/;

/** Undefined if the cursor is of another epoch, or beyond the head. Throws if it is no cursor. */
function parseCursor(cursor: string, head: ChangesHead): ChangePosition | undefined {
  const [, epoch, digits, snapshotText] = cursorPattern.exec(cursor) ?? [];
  const position = Number(digits);
  const snapshot = snapshotText === undefined ? undefined : parseSnapshot(snapshotText);
  const place = { position, ...(snapshot && { snapshot }) };
  if (epoch === undefined || !Number.isSafeInteger(position) || cursorOf(place, epoch) !== cursor) {
    throw invalidParam('after must be a cursor of an earlier response');
  }
  return epoch !== head.epoch || position > head.position ? undefined : place;
}

/** The types of the values in the key of each kind. */
const keyTypes: Record<ChangeKind, readonly ('string' | 'number')[]> = {
  workspace: ['string'],
  app: ['string'],
  dataset: ['string'],
  model_provider: ['string', 'number'],
  document: ['string', 'string'],
  segment: ['string', 'string'],
  child_chunk: ['string', 'string'],
  conversation: ['string'],
  message: ['string', 'number', 'number'],
  review: ['string', 'string'],
};

function parseSnapshot(text: string): ChangePosition['snapshot'] {
  try {
    const [kind, ...key] = JSON.parse(Buffer.from(text, 'base64url').toString());
    const types = keyTypes[kind as ChangeKind];
    const fits =
      Object.hasOwn(keyTypes, kind) &&
      (key.length === 0 ||
        (key.length === types.length &&
          key.every((value: unknown, at: number) => typeof value === types[at] && isComparable(value))));
    return fits ? { kind, key } : undefined;
  } catch {
    return undefined;
  }
}

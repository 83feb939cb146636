import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../../contract/limits.ts';
import type { ChangedObject, Owner } from '../../domain/owner.ts';
import type { Store } from '../../domain/store/store.ts';
import { DifyConnection, readIsStandby } from '../connection.ts';
import { noChildren, reconcile } from '../reconcile.ts';
import { createContext, type RunContext } from '../run-context.ts';
import { allRows, queryIds, silentReport } from '../source.ts';
import { completeName, readSourceId } from '../state.ts';

/** Objects that are read from the source together. */
const storedTogetherMax = 200;
/** Pause before a row is looked for again that is not there yet. */
const sourceRetryMillis = 50;
/** Time between two looks whether the source was read once as a whole. */
const completeMillis = 1_000;

type Waiting = { object: ChangedObject; resolve: (isStored: boolean) => void; reject: (error: Error) => void };

/**
 * A Dify installation that owns the data. What a request has changed there is read from its database at once, by the code of an import.
 * Objects that wait are read together, so that one connection is enough.
 */
export class DifyOwner implements Owner {
  readonly #url: string;
  readonly #store: Store;
  readonly #clock: () => number;
  readonly #timer: NodeJS.Timeout;
  readonly #stop = new AbortController();
  #opening: Promise<RunContext> | undefined;
  #id: string | undefined;
  #waiting: Waiting[] = [];
  #isReading = false;
  isComplete = false;
  readonly heldMillisMax: number;

  constructor(url: string, store: Store, clock: () => number, heldMillisMax: number = limits.heldMillisMax) {
    this.heldMillisMax = heldMillisMax;
    this.#url = url;
    this.#store = store;
    this.#clock = clock;
    const look = () => void this.#lookIfComplete().catch(() => undefined);
    this.#timer = setInterval(look, completeMillis).unref();
    look();
  }

  async store(object: ChangedObject): Promise<boolean> {
    const end = performance.now() + this.heldMillisMax;
    for (;;) {
      const isStored = await new Promise<boolean>((resolve, reject) => {
        this.#waiting.push({ object, resolve, reject });
        if (!this.#isReading) void this.#readWaiting();
      });
      if (isStored || performance.now() >= end || this.#stop.signal.aborted) return isStored;
      await sleep(sourceRetryMillis);
    }
  }

  async owns(kind: 'app' | 'dataset', id: string): Promise<boolean> {
    const sources = this.#id === undefined ? await this.#completeSources() : [this.#id];
    for (const source of sources) {
      if ((await this.#store.imports.findIds(source, kind, [id])).has(id)) return true;
    }
    return false;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#stop.abort();
    for (const { reject } of this.#waiting.splice(0)) reject(new Error('stopped'));
    const context = await this.#opening?.catch(() => undefined);
    context?.writer.close();
    await context?.source.close();
  }

  /** The installation is not known while its database does not respond: then it is the one that was followed. */
  async #lookIfComplete(): Promise<void> {
    const sources = await this.#completeSources();
    this.isComplete = this.#id === undefined ? sources.length > 0 : sources.includes(this.#id);
    if (this.isComplete && this.#id !== undefined) clearInterval(this.#timer);
    await this.#open();
  }

  #completeSources(): Promise<string[]> {
    return this.#store.imports.findSources(completeName(allRows));
  }

  #open(): Promise<RunContext> {
    this.#opening ??= this.#connect().catch((error) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #connect(): Promise<RunContext> {
    const source = await DifyConnection.open(this.#url);
    const id = await readSourceId(source);
    this.#id = id;
    return createContext({
      source,
      store: this.#store,
      options: allRows,
      id,
      report: silentReport,
      warn: () => undefined,
      isDry: false,
      isForced: true,
      isOwner: true,
      signal: this.#stop.signal,
      clock: this.#clock,
    });
  }

  async #readWaiting(): Promise<void> {
    this.#isReading = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, storedTogetherMax);
      try {
        const missing = await this.#storeTogether(batch.map(({ object }) => object));
        for (const { object, resolve } of batch) resolve(!missing.has(object.id));
      } catch (error) {
        for (const { reject } of batch) reject(error as Error);
      }
    }
    this.#isReading = false;
  }

  /** Returns the ids of objects that could not be stored. */
  async #storeTogether(objects: readonly ChangedObject[]): Promise<ReadonlySet<string>> {
    const context = await this.#open();
    const { source } = context;
    const idsOf = (kind: ChangedObject['kind']) => objects.filter((object) => object.kind === kind).map(({ id }) => id);
    const named = objects.map(({ kind, id, conversation_id }) => (kind === 'conversation' ? id : conversation_id));
    const conversations = new Set(named.filter((id) => id !== ''));
    // What is in doubt in the same conversations is stored with them: storing anything there makes them undoubted.
    const doubts = await this.#store.doubts.ofConversations([...conversations]);
    const messages = [...idsOf('message'), ...doubts.filter(({ kind }) => kind === 'message').map(({ id }) => id)];
    const ofMessages = 'SELECT DISTINCT conversation_id AS id FROM messages WHERE id = ANY($1::uuid[])';
    for (const id of await queryIds(source, ofMessages, [messages])) conversations.add(id);
    const isStandby = await readIsStandby(source);
    const finishing = isStandby ? context : { ...context, finished: new Set(messages) };
    await reconcile(finishing, 'conversation', [...conversations], noChildren);
    const unstored = await reconcile(finishing, 'message', messages, noChildren);
    await reconcile(finishing, 'child_chunk', idsOf('child_chunk'), noChildren);
    // An old row looks like a new one.
    return isStandby ? new Set([...unstored, ...idsOf('conversation'), ...idsOf('child_chunk')]) : unstored;
  }
}

import type { ConversationListed, ConversationSummary, FeedbackText } from '../../contract/console/activity.ts';
import { derivedName } from '../../domain/records/conversation-name.ts';
import type { ActivityReads, DayRange, DaySelection, PeriodSums } from '../../domain/store/activity-reads.ts';
import type { ListRange, ListRows } from '../../domain/store/admin-reads.ts';
import type { Selection } from '../../domain/store/selection.ts';
import type { OpenScan, ReadEngine } from '../base/engine.ts';
import * as sql from './activity-statements.ts';
import { querySums, scanSums } from './period-sums.ts';
import { readSummaries } from './summaries.ts';

/** Reads conversations and usage of apps, on either engine. */
export class SqlActivityReads implements ActivityReads {
  readonly #engine: ReadEngine;
  readonly #openScan: OpenScan | undefined;

  /** `openScan`: for an engine that reads on this thread. */
  constructor(engine: ReadEngine, openScan: OpenScan | undefined) {
    this.#engine = engine;
    this.#openScan = openScan;
  }

  async findConversation(app_id: string, id: string): Promise<ConversationListed | undefined> {
    return (await this.#engine.read(sql.findListedConversation, id, app_id, id)).map(conversationOf)[0];
  }

  listSummaries(
    selection: Selection,
    ids: readonly string[] | undefined,
    range: ListRange,
  ): Promise<ListRows<ConversationSummary>> {
    return readSummaries(this.#engine, selection, ids, range);
  }

  async findNewer(
    app_id: string,
    conversation_id: string,
    message_id: string | undefined,
    distance: number,
  ): Promise<string | null | undefined> {
    const beginning = { created_at: Number.MIN_SAFE_INTEGER, sequence: 0 };
    const [position] =
      message_id !== undefined
        ? await this.#engine.read(sql.findPosition, conversation_id, app_id, message_id)
        : (await this.findConversation(app_id, conversation_id)) === undefined
          ? []
          : [beginning];
    if (position === undefined) return undefined;
    const { created_at, sequence } = position;
    const [row] = await this.#engine.read(sql.findNewer, conversation_id, created_at, sequence, distance - 1);
    return row?.id ?? null;
  }

  async listFeedback(app_id: string, conversation_id: string, message_ids: readonly string[]): Promise<FeedbackText[]> {
    const { isIn, list } = this.#engine.dialect;
    const values = [conversation_id, app_id, list(message_ids)];
    return this.#engine.read(sql.feedback(isIn('m.id')), ...values);
  }

  async sumPeriod(selection: DaySelection, before: DayRange, signal: AbortSignal): Promise<PeriodSums> {
    if (this.#openScan === undefined) return querySums(this.#engine, selection, before);
    return scanSums(await this.#openScan(signal), this.#engine.dialect, selection, before);
  }
}

function conversationOf(row: sql.ListedConversationRow): ConversationListed {
  const { id, user, created_at, updated_at, message_count, last_message_at } = row;
  const name = row.name ?? derivedName.withoutQuery;
  const times = { last_message_at: message_count === 0 ? null : last_message_at, updated_at };
  return { id, user, name, created_at, message_count, ...times };
}

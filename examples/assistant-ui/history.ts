import {
  ExportedMessageRepository,
  type ExportedMessageRepositoryItem,
  type ThreadHistoryAdapter,
  type ThreadMessage,
  type ThreadMessageLike,
} from '@assistant-ui/core';
// In a project of your own: from 'backscroll-client'.
import type { Backscroll, Message } from '../../client/src/index.ts';

/**
 * Keeps a thread of assistant-ui in a conversation of Backscroll: a question and its answer are one message. A question is stored
 * when it is asked, and again with its answer, under the same id. Edited questions are branches, as in the front end.
 */
export type HistoryOptions = {
  /** With an app key. */
  reader: Pick<Backscroll, 'history'>;
  /** With a writer key. */
  writer: Pick<Backscroll, 'append'>;
  app_id: string;
  user: string;
  /** A UUID. */
  conversation_id: string;
};

/** What is known of a message of Backscroll that this page has stored or loaded. */
type Turn = { id: string; parent_message_id: string | null; query: string };

export function backscrollHistory(options: HistoryOptions): ThreadHistoryAdapter {
  const { reader, writer, app_id, user, conversation_id } = options;
  /** By the id of the front end's message, which is a question or an answer. */
  const turns = new Map<string, Turn>();
  const store = (turn: Turn, more: object = {}) => {
    const message = { answer: '', ...turn, ...more };
    return writer.append({ conversation: { id: conversation_id, app_id, user }, messages: [message] });
  };

  async function load(): Promise<ExportedMessageRepository> {
    const messages: Message[] = [];
    for await (const message of reader.history({ conversation_id, user })) messages.push(message);
    messages.reverse();
    const items: { message: ThreadMessageLike; parentId: string | null }[] = [];
    /** The last message of the front end for each message of Backscroll. */
    const ends = new Map<string, string>();
    let previous: string | null = null;
    for (const message of messages) {
      const parent: string | null = message.parent_message_id ?? previous;
      const parentId = (parent && ends.get(parent)) ?? null;
      for (const shown of shownMessages(message)) {
        items.push({ message: shown, parentId: shown.role === 'user' ? parentId : questionId(message.id) });
        turns.set(shown.id ?? '', { id: message.id, parent_message_id: parent, query: message.query });
        ends.set(message.id, shown.id ?? '');
      }
      previous = message.id;
    }
    return ExportedMessageRepository.fromBranchableArray(items);
  }

  async function append({ message, parentId }: ExportedMessageRepositoryItem): Promise<void> {
    const parent = parentId === null ? undefined : turns.get(parentId);
    if (message.role === 'assistant') {
      // An answer without a question, such as a greeting, is a message of its own.
      const turn = parent ?? { id: crypto.randomUUID(), parent_message_id: null, query: '' };
      turns.set(message.id, turn);
      await store(turn, { answer: textOf(message), ...outcomeOf(message) });
    } else if (message.role === 'user') {
      const turn = { id: crypto.randomUUID(), parent_message_id: parent?.id ?? null, query: textOf(message) };
      turns.set(message.id, turn);
      await store(turn);
    }
  }

  return { load, append, update: append };
}

const questionId = (id: string): string => `${id}-question`;

function shownMessages({ id, query, answer, error, created_at }: Message): ThreadMessageLike[] {
  const createdAt = new Date(created_at * 1000);
  const question = { id: questionId(id), role: 'user', content: query, createdAt } as const;
  const content = answer === '' && error !== null ? error : answer;
  return content === '' ? [question] : [question, { id, role: 'assistant', content, createdAt }];
}

const textOf = ({ content }: ThreadMessage): string =>
  content.flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n\n');

/** Of an answer that failed. */
function outcomeOf({ status }: ThreadMessage): object {
  if (status?.type !== 'incomplete' || status.reason !== 'error') return {};
  return { status: 'error', error: typeof status.error === 'string' ? status.error : 'the answer failed' };
}

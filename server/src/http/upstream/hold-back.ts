import { limits } from '../../contract/limits.ts';

/** What a response says about the message that it generates. */
export type AnswerIds = { message_id: string | undefined; conversation_id: string | undefined };

type Bytes = AsyncIterable<Buffer>;

const lineEnd = 0x0a;
const ends = new Set(['message_end', 'error']);
/** The beginning of a line that is certainly none of the last ones: Dify writes `event` first. */
const otherEvent = /^(?!data:)[^\n]{5}|^data:\s*\{"event":\s*"(?!(?:message_end|error)")[a-z_]+"/;

/**
 * The bytes of a stream of events, as they arrive. A line with the end of the message, or its error, is held back until `record`
 * has ended; so is the end of a stream without such a line.
 */
export async function* holdBackEnd(chunks: Bytes, record: (ids: AnswerIds) => Promise<void>): AsyncGenerator<Buffer> {
  const ids: AnswerIds = { message_id: undefined, conversation_id: undefined };
  let isRecorded = false;
  /** The beginning of a line of which nothing was forwarded, and whether that of the current one was. */
  let held = Buffer.alloc(0);
  let isForwarded = false;
  try {
    for await (const chunk of chunks) {
      let start = 0;
      let forwarded: Buffer[] = [];
      for (let end = chunk.indexOf(lineEnd); end !== -1; end = chunk.indexOf(lineEnd, start)) {
        const part = chunk.subarray(start, end + 1);
        start = end + 1;
        const line = held.length === 0 ? part : Buffer.concat([held, part]);
        held = Buffer.alloc(0);
        if (!isForwarded && isEnd(line, ids)) {
          if (forwarded.length > 0) yield Buffer.concat(forwarded);
          forwarded = [];
          isRecorded = true;
          await record(ids);
        }
        isForwarded = false;
        forwarded.push(line);
      }
      const rest = chunk.subarray(start);
      if (isForwarded) forwarded.push(rest);
      else if (rest.length > 0) {
        held = Buffer.concat([held, rest]);
        isForwarded = held.length > limits.heldLineBytesMax || otherEvent.test(held.toString('latin1', 0, 64));
        if (isForwarded) forwarded.push(held);
        if (isForwarded) held = Buffer.alloc(0);
      }
      if (forwarded.length > 0) yield Buffer.concat(forwarded);
    }
  } finally {
    if (!isRecorded) await record(ids);
  }
  if (held.length > 0) yield held;
}

/** Whether a line has the end of a message or its error. Collects the ids of the message. */
function isEnd(line: Buffer, ids: AnswerIds): boolean {
  if (ids.message_id !== undefined && !line.includes('message_end') && !line.includes('error')) return false;
  const text = line.toString();
  if (!text.startsWith('data:')) return false;
  const event = parseObject(text.slice('data:'.length));
  collectIds(event, ids);
  return ends.has(event.event as string);
}

function collectIds({ message_id, conversation_id }: Record<string, unknown>, ids: AnswerIds): void {
  if (typeof message_id === 'string') ids.message_id = message_id;
  if (typeof conversation_id === 'string') ids.conversation_id = conversation_id;
}

/**
 * The bytes of a body; the last ones are held back until `record` has ended. It gets the body as an object, empty if that is not
 * possible.
 */
export async function* holdBackBody(
  chunks: Bytes,
  record: (body: Record<string, unknown>) => Promise<void>,
): AsyncGenerator<Buffer> {
  let copy: Buffer[] | undefined = [];
  let bytes = 0;
  let last: Buffer | undefined;
  try {
    for await (const chunk of chunks) {
      if (last !== undefined) yield last;
      last = chunk;
      bytes += chunk.length;
      if (bytes > limits.heldBodyBytesMax) copy = undefined;
      copy?.push(chunk);
    }
  } finally {
    await record(copy === undefined ? {} : parseObject(Buffer.concat(copy).toString()));
  }
  if (last !== undefined) yield last;
}

export function idsIn(body: Record<string, unknown>): AnswerIds {
  const ids: AnswerIds = { message_id: undefined, conversation_id: undefined };
  collectIds(body, ids);
  return ids;
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

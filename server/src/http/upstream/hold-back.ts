import type { IncomingMessage } from 'node:http';

/** The beginning of a line of a stream that is held back at most. */
const heldLineBytesMax = 65_536;
/** The copy of a body that is held back at most. */
const heldBodyBytesMax = 4_194_304;

/** What a response says about the message that it generates. */
export type AnswerIds = { message_id: string | undefined; conversation_id: string | undefined };

type Bytes = AsyncIterable<Buffer>;

const lineEnd = 0x0a;
/** `d` of `data:`. */
const firstOfData = 0x64;
const ends = new Set(['message_end', 'error']);
/** The beginning of a line that is certainly none of the last ones: Dify writes `event` first. */
const otherEvent = /^(?!data:)[^\n]{5}|^data:\s*\{"event":\s*"(?!(?:message_end|error)")[a-z_]+"/;

/**
 * The bytes of a stream of events, as they arrive. The first line with the end of the message, or its error, is held back until
 * `record` has ended; so is the end of a stream without such a line.
 */
export async function* holdBackEnd(chunks: Bytes, record: (ids: AnswerIds) => Promise<void>): AsyncGenerator<Buffer> {
  const ids: AnswerIds = { message_id: undefined, conversation_id: undefined };
  let isRecorded = false;
  /** The beginning of a line of which nothing was forwarded, and whether that of the current one was. */
  let held: Buffer = Buffer.alloc(0);
  let isForwarded = false;
  try {
    for await (const chunk of chunks) {
      const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      let [forwarded, start] = [0, 0];
      while (!isRecorded) {
        const end = endOfLine(bytes, start);
        if (end === undefined) break;
        if (!isForwarded && isEnd(bytes, start, end, ids)) {
          if (start > 0) yield bytes.subarray(0, start);
          forwarded = start;
          isRecorded = true;
          await record(ids);
        }
        isForwarded = false;
        start = end;
      }
      const rest = bytes.subarray(start);
      isForwarded ||= isRecorded || rest.length > heldLineBytesMax || otherEvent.test(rest.toString('latin1', 0, 64));
      held = isForwarded ? Buffer.alloc(0) : rest;
      const ready = bytes.subarray(forwarded, bytes.length - held.length);
      if (ready.length > 0) yield ready;
    }
  } finally {
    if (!isRecorded) await record(ids);
  }
  if (held.length > 0) yield held;
}

/** The place after its line break. Of empty lines a client can send a million in a mebibyte. */
function endOfLine(bytes: Buffer, start: number): number | undefined {
  const at = bytes[start] === lineEnd ? start : bytes.indexOf(lineEnd, start);
  return at === -1 ? undefined : at + 1;
}

/** Whether a line has the end of a message or its error. Collects the ids of the message. */
function isEnd(bytes: Buffer, start: number, end: number, ids: AnswerIds): boolean {
  if (bytes[start] !== firstOfData) return false;
  const line = bytes.subarray(start, end);
  if (ids.message_id !== undefined && !line.includes('message_end') && !line.includes('error')) return false;
  const text = line.toString();
  if (!text.startsWith('data:')) return false;
  const event = parseObject(text.slice('data:'.length));
  Object.assign(ids, idsIn(event, ids));
  return ends.has(event.event as string);
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
      if (bytes > heldBodyBytesMax) copy = undefined;
      copy?.push(chunk);
    }
  } finally {
    await record(copy === undefined ? {} : parseObject(Buffer.concat(copy).toString()));
  }
  if (last !== undefined) yield last;
}

/**
 * The body of a request that is passed on, as an object, empty if that is not possible. To be called before the body is sent, and
 * the returned function when it was.
 */
export function copyBody(request: IncomingMessage): () => Record<string, unknown> {
  const copy: Buffer[] = [];
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= heldLineBytesMax) copy.push(chunk);
  });
  return () => (bytes > heldLineBytesMax ? {} : parseObject(Buffer.concat(copy).toString()));
}

/** Those that the body has, or else those that are known. */
export function idsIn(body: Record<string, unknown>, known?: AnswerIds): AnswerIds {
  const idOf = (name: keyof AnswerIds) => (typeof body[name] === 'string' ? body[name] : known?.[name]);
  return { message_id: idOf('message_id'), conversation_id: idOf('conversation_id') };
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

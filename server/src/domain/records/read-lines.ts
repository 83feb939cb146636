import { limits } from '../../contract/limits.ts';
import { UnfinishedInput } from '../unfinished-input.ts';

/** One input of an import. `name` is part of error messages, if there are several. */
export type RecordSource = {
  name?: string | undefined;
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
};

/** Complete lines of an input. `number` is the line number of the first. */
export type Lines = { number: number; source: string | undefined; bytes: Uint8Array };

const lineEnd = 10;

/** For each chunk of the input, the lines that end in it. Reading stops at a line that is too long; its beginning comes last. */
export async function* readLines({ name: source, bytes }: RecordSource): AsyncGenerator<Lines> {
  let number = 1;
  /** The beginning of a line whose end has not been read yet. */
  let partial: Uint8Array[] = [];
  const unfinished = new UnfinishedInput();
  try {
    for await (const chunk of bytes) {
      const end = chunk.lastIndexOf(lineEnd) + 1;
      if (end > 0) {
        const rest = chunk.subarray(0, end);
        const lines = partial.length === 0 ? rest : Buffer.concat([...partial, rest]);
        partial = [];
        yield { number, source, bytes: lines };
        unfinished.clear();
        number += countLines(lines);
      }
      partial.push(chunk.subarray(end));
      unfinished.add(chunk.length - end);
      if (unfinished.bytes > limits.recordBytesMax) break;
    }
    if (unfinished.bytes > 0) yield { number, source, bytes: Buffer.concat(partial) };
  } finally {
    unfinished.clear();
  }
}

/** The lines one by one, without their line ends. */
export function* splitLines({ number, bytes }: Lines): Generator<{ number: number; bytes: Buffer }> {
  const buffer = bufferOf(bytes);
  for (let start = 0; start < buffer.length; number += 1) {
    const next = buffer.indexOf(lineEnd, start);
    const end = next === -1 ? buffer.length : next;
    yield { number, bytes: buffer.subarray(start, end) };
    start = end + 1;
  }
}

function countLines(bytes: Uint8Array): number {
  const buffer = bufferOf(bytes);
  let count = 0;
  for (let index = buffer.indexOf(lineEnd); index !== -1; index = buffer.indexOf(lineEnd, index + 1)) count += 1;
  return count;
}

/** A Buffer is searched several times faster than a Uint8Array, which is what another thread receives. */
const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);

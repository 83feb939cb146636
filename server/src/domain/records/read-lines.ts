import { limits } from '../../contract/limits.ts';

/** One input of an import. `name` is part of error messages, if there are several. */
export type RecordSource = { name?: string | undefined; bytes: AsyncIterable<Uint8Array> };

/** Complete lines of an input. `number` is the line number of the first. */
export type Lines = { number: number; source: string | undefined; bytes: Uint8Array };

const lineEnd = 10;

/** For each chunk of the input, the lines that end in it. Reading stops at a line that is too long; its beginning comes last. */
export async function* readLines({ name: source, bytes }: RecordSource): AsyncGenerator<Lines> {
  let number = 1;
  /** The beginning of a line whose end has not been read yet. */
  let partial: Uint8Array[] = [];
  let partialBytes = 0;
  for await (const chunk of bytes) {
    const end = chunk.lastIndexOf(lineEnd) + 1;
    if (end > 0) {
      const rest = chunk.subarray(0, end);
      const lines = partial.length === 0 ? rest : Buffer.concat([...partial, rest]);
      yield { number, source, bytes: lines };
      number += countLines(lines);
      partial = [];
      partialBytes = 0;
    }
    partial.push(chunk.subarray(end));
    partialBytes += chunk.length - end;
    if (partialBytes > limits.recordBytesMax) break;
  }
  if (partialBytes > 0) yield { number, source, bytes: Buffer.concat(partial) };
}

/** The lines one by one, without their line ends. */
export function* splitLines({ number, bytes }: Lines): Generator<{ number: number; bytes: Uint8Array }> {
  for (let start = 0; start < bytes.length; number += 1) {
    const next = bytes.indexOf(lineEnd, start);
    const end = next === -1 ? bytes.length : next;
    yield { number, bytes: bytes.subarray(start, end) };
    start = end + 1;
  }
}

function countLines(bytes: Uint8Array): number {
  let count = 0;
  for (let index = bytes.indexOf(lineEnd); index !== -1; index = bytes.indexOf(lineEnd, index + 1)) count += 1;
  return count;
}

import { limits } from '../contract/limits.ts';

/** One input of an import; `name` is said in errors where there are several. */
export type RecordSource = { name?: string | undefined; bytes: AsyncIterable<Uint8Array> };

/** Whole lines of an input; `number` is that of the first. */
export type Lines = { number: number; source: string | undefined; bytes: Uint8Array };

const lineEnd = 10;

/** The lines of each piece of input that end in it. One that grows too long comes without its end, and is the last. */
export async function* readLines({ name: source, bytes }: RecordSource): AsyncGenerator<Lines> {
  let number = 1;
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  for await (const piece of bytes) {
    const end = piece.lastIndexOf(lineEnd) + 1;
    if (end > 0) {
      const whole = held.length === 0 ? piece.subarray(0, end) : Buffer.concat([...held, piece.subarray(0, end)]);
      yield { number, source, bytes: whole };
      number += countLines(whole);
      held = [];
      heldBytes = 0;
    }
    held.push(piece.subarray(end));
    heldBytes += piece.length - end;
    if (heldBytes > limits.recordBytesMax) break;
  }
  if (heldBytes > 0) yield { number, source, bytes: Buffer.concat(held) };
}

/** The lines one by one, without their ends. */
export function* splitLines({ number, bytes }: Lines): Generator<{ number: number; bytes: Uint8Array }> {
  for (let start = 0; start < bytes.length; number += 1) {
    const found = bytes.indexOf(lineEnd, start);
    const end = found === -1 ? bytes.length : found;
    yield { number, bytes: bytes.subarray(start, end) };
    start = end + 1;
  }
}

function countLines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(lineEnd); at !== -1; at = bytes.indexOf(lineEnd, at + 1)) count += 1;
  return count;
}

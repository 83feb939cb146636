import { limits } from '../contract/limits.ts';
import type { Line } from './prepare-record.ts';

/** One input of an import; `name` is said in errors where there are several. */
export type RecordSource = { name?: string | undefined; bytes: AsyncIterable<Uint8Array> };

export type RawLine = Line & { bytes: Buffer | undefined };

/** Lines as they come out of each piece of input. A line that is too long has no bytes and is the last. */
export async function* readLines({ name, bytes }: RecordSource): AsyncGenerator<RawLine[]> {
  let number = 0;
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  const take = (piece: Uint8Array): RawLine => {
    number += 1;
    const whole = held.length === 0 ? piece : Buffer.concat([...held, piece]);
    held = [];
    heldBytes = 0;
    const fits = whole.length <= limits.recordBytesMax;
    return {
      number,
      source: name,
      bytes: fits ? Buffer.from(whole.buffer, whole.byteOffset, whole.length) : undefined,
    };
  };
  for await (const chunk of bytes) {
    const lines: RawLine[] = [];
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      lines.push(take(chunk.subarray(start, end)));
      start = end + 1;
    }
    if (start < chunk.length) {
      held.push(chunk.subarray(start));
      heldBytes += chunk.length - start;
    }
    if (heldBytes > limits.recordBytesMax) lines.push(take(new Uint8Array()));
    if (lines.length > 0) yield lines;
  }
  if (heldBytes > 0) yield [take(new Uint8Array())];
}

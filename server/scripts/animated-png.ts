import { crc32 } from 'node:zlib';

/** Joins PNG pictures of the same size to an animated one (https://www.w3.org/TR/png-3/#apng-frame-based-animation). */

type Frame = { png: Buffer; millis: number };
type Chunk = { type: string; data: Buffer };

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const played = ['IHDR', 'IDAT', 'IEND'];

function* chunksOf(png: Buffer): Generator<Chunk> {
  for (let at = signature.length; at < png.length; ) {
    const bytes = png.readUInt32BE(at);
    yield { type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + bytes) };
    at += bytes + 12;
  }
}

function chunk(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), ...parts]);
  const frame = Buffer.alloc(4);
  frame.writeUInt32BE(body.length - 4);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([frame, body, check]);
}

const numbers = (...values: readonly number[]): Buffer => {
  const data = Buffer.alloc(4 * values.length);
  for (const [at, value] of values.entries()) data.writeUInt32BE(value, 4 * at);
  return data;
};

export function animate(frames: readonly Frame[]): Buffer {
  const [first] = frames;
  if (first === undefined) throw new Error('there is no frame');
  const head = [...chunksOf(first.png)].find(({ type }) => type === 'IHDR')?.data ?? Buffer.alloc(0);
  const size = head.subarray(0, 8);
  const others = [...chunksOf(first.png)].filter(({ type }) => !played.includes(type));
  const parts = [signature, chunk('IHDR', head), ...others.map(({ type, data }) => chunk(type, data))];
  // It plays for ever.
  parts.push(chunk('acTL', numbers(frames.length, 0)));
  let sequence = 0;
  for (const [at, { png, millis }] of frames.entries()) {
    const delay = Buffer.alloc(6);
    delay.writeUInt16BE(millis);
    delay.writeUInt16BE(1_000, 2);
    // No offset; the picture stays until the next one replaces all of it.
    parts.push(chunk('fcTL', numbers(sequence++), size, numbers(0, 0), delay));
    for (const { type, data } of chunksOf(png)) {
      if (type !== 'IDAT') continue;
      parts.push(at === 0 ? chunk('IDAT', data) : chunk('fdAT', numbers(sequence++), data));
    }
  }
  return Buffer.concat([...parts, chunk('IEND')]);
}

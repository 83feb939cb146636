import type { Destination } from './destination.ts';

const bytesMax = 16_777_216;

export async function writeJson(destination: Destination, name: string, value: object): Promise<void> {
  const bytes = Buffer.from(`${JSON.stringify(value)}\n`);
  const content = async function* () {
    yield bytes;
  };
  await destination.write(name, content(), bytes.byteLength);
}

/** Undefined if the object does not have the form. */
export async function readJson<T>(
  destination: Destination,
  name: string,
  isValid: (value: Partial<T> | null) => value is T,
): Promise<T | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of destination.read(name)) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > bytesMax) return undefined;
  }
  try {
    const value: Partial<T> | null = JSON.parse(Buffer.concat(chunks).toString());
    return isValid(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export type Content = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** A store of backups: named contents, which appear complete or not at all. Names consist of `/`, letters, digits, `.` and `-`. */
export interface Destination {
  /** For messages; without credentials. */
  readonly location: string;
  /** The names that begin with this text, in any order. */
  list(start: string): Promise<string[]>;
  read(name: string): AsyncIterable<Uint8Array>;
  /** `bytesMax`: at most so many bytes come. */
  write(name: string, content: Content, bytesMax: number): Promise<void>;
  remove(name: string): Promise<void>;
  removeUnfinished(): Promise<void>;
}

/** Whether what `backup` gets is a store of backups by its form. A path may also be one because it is a folder. */
export const isStoreUrl = (text: string): boolean => /^(?:file|s3):\/\/|\/$/.test(text);

const bytesMax = 16_777_216;

export async function writeJson(destination: Destination, name: string, value: object): Promise<void> {
  const bytes = Buffer.from(`${JSON.stringify(value)}\n`);
  await destination.write(name, [bytes], bytes.byteLength);
}

/** The beginning of a content, with a little more than so many bytes at most. */
export async function textOf(chunks: AsyncIterable<Uint8Array>, bytesMax: number): Promise<string> {
  const found: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    found.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > bytesMax) break;
  }
  return Buffer.concat(found).toString();
}

/** Undefined if the object does not have the form. */
export async function readJson<T>(
  destination: Destination,
  name: string,
  isValid: (value: Partial<T> | null) => value is T,
): Promise<T | undefined> {
  const text = await textOf(destination.read(name), bytesMax);
  try {
    const value: Partial<T> | null = JSON.parse(text);
    return isValid(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

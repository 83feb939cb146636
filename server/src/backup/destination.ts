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

/** Every bound the service knows, with its unit in its name. */
export const limits = {
  pageMessagesDefault: 20,
  pageMessagesMin: 1,
  pageMessagesMax: 100,
  /** Rendered pages that one instance keeps at hand. */
  pageCacheBytesMax: 67_108_864,

  /** Rows of a list that the console shows. */
  listRowsDefault: 20,
  listRowsMin: 1,
  listRowsMax: 100,
  /** Of small rows that are only of use by the thousand: one a day, app and currency. */
  usageRowsMax: 1_000,
  searchUnitsMax: 200,

  childChunkUnitsMax: 100_000,
  bodyBytesMax: 1_048_576,
  /** Of one that anybody may send: as much as would go into a header. */
  openBodyBytesMax: 16_384,
  /** Read and dropped after an early answer, so that the client gets to see the answer. */
  drainBytesMax: 8_388_608,
  drainMillisMax: 10_000,
  /** Given to the rest of a body before an early answer that ends the connection. */
  closeGraceMillis: 50,
  /** Between the last answer on a connection and cutting it, where the client does not close. */
  closeMillis: 2_000,
  /** While the service stops: how long a quiet connection stays open for a request that is on its way. */
  lingerMillis: 500,
  headerBytesMax: 16_384,
  headersMillisMax: 15_000,
  headersCheckMillis: 2_000,
  bodyMillisMax: 30_000,
  /** Between two pieces of a streamed upload. */
  bodyIdleMillisMax: 60_000,
  keepAliveMillis: 72_000,

  /** A page holds a hundred messages at most, so this bounds a page too. */
  recordBytesMax: 4_194_304,
  jsonDepthMax: 100,
  decimalCharsMax: 200,
  idUnitsMax: 255,
  /** Checked records beyond this wait on disk, not in memory, until they are applied. */
  spoolBytesMin: 4_194_304,
  /** A piece of an import from this size on is checked by several threads. */
  sharedBytesMin: 131_072,
  /** Beside the one that reads. */
  checkThreadsMax: 3,
  /** Ids seen in one input beyond this are remembered on disk. */
  seenIdsInMemoryMax: 100_000,

  /** Records of one kind that an entry of the audit names; beyond it they are only counted. */
  auditIdsMax: 100,
  /** Entries that are forgotten, or read, at once. */
  auditBatchMax: 1_000,
  /** Between two looks at what can be forgotten. */
  trimMillis: 3_600_000,
  /** Between two notes of which keys were used. */
  keyUseMillis: 30_000,

  /** How long one stays signed in to the console. */
  sessionSeconds: 43_200,

  /** Knowledge bases that one key made over HTTP can be restricted to. */
  keyDatasetsMax: 1_000,
  secretRandomBytes: 30,
  failedKeysPerMinuteMax: 100,
  /** Keys that were used lately, whose reach one instance remembers. */
  callersMin: 5_000,
  /** Addresses or keys one limiter remembers at once. */
  limiterEntriesMax: 100_000,

  /** One turn of the event loop answers requests for so long; the rest of them waits in line. */
  turnMillisMax: 20,
  /** Whoever has been in line for longer is refused. */
  lineMillisMax: 250,
  /** Of answers that wait for their readers, all together. */
  unreadBytesMax: 268_435_456,
  connectionsMax: 10_000,
  overloadLineMillis: 1_000,

  /** After the start: what checks requests is loaded, unless one was quicker. */
  loadCompilerMillis: 500,
  writeWaitMillisMax: 5_000,
  shutdownMillisMax: 20_000,
} as const;

/** Not Node's own: the console loads this module in browsers. */
function assert(isTrue: boolean, message?: string): void {
  if (!isTrue) throw new Error(message);
}
assert(limits.childChunkUnitsMax * 6 < limits.bodyBytesMax, 'JSON may spell any unit in six bytes');
assert(limits.secretRandomBytes * 8 >= 160, 'a secret holds at least 160 random bits');
assert(limits.pageMessagesDefault <= limits.pageMessagesMax);
assert(limits.lingerMillis * 2 < limits.shutdownMillisMax, 'lingering is no reason to be cut off');

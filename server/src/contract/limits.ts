/**
 * Bounds that clients can see, or that several files know, with their units in their names. `Units` are UTF-16 code units. A number that
 * only one file knows is at the head of that file.
 */
export const limits = {
  pageMessagesDefault: 20,
  pageMessagesMax: 100,
  /** A page up to this size is read and sent as a whole; a larger one is streamed. */
  pageBytesMax: 4_194_304,
  /** A message over this size is read only after the size of its page was checked. */
  joinedDocBytesMax: 65_536,
  /** Large pages streamed concurrently. Each holds a snapshot of the database. */
  largePagesMax: 4,
  largePageWaitMillisMax: 5_000,
  /** Messages of a large page are read in batches of this size, or one by one if they are larger. */
  largePageReadBytes: 1_048_576,
  largePageWriteBytes: 262_144,
  /** A client that reads a large page at a lower rate for `slowReaderMillis` is disconnected. */
  slowReaderBytesPerSecond: 262_144,
  slowReaderMillis: 30_000,

  /** Rows in one page of an admin list. */
  listRowsDefault: 20,
  listRowsMax: 100,
  /** Longer texts in the results of tools are cut. */
  toolTextUnitsMax: 8_000,
  /** Revisions and citing answers in the result of a tool. */
  toolChunkRowsMax: 10,
  searchUnitsMax: 200,
  /** Feedback in one page of an app's list. */
  feedbackRowsMax: 101,
  /** Kinds of failed requests that are listed. */
  failuresMax: 100,
  /** Characters of texts of messages in a list of conversations. */
  listedTextCharsMax: 200,
  /** The days in which answers that cite a text are counted. */
  citedDays: 30,
  /** How many texts that most disliked answers cite are named. */
  worstTexts: 3,
  /** Days that the overview shows without parameters, and at most. */
  overviewDaysDefault: 30,
  overviewDaysMax: 366,
  /** A longer period has a point for each day. */
  overviewHourlyDaysMax: 2,
  /** Apps or models that have points of their own. */
  overviewSeriesMax: 5,
  overviewModelsMax: 50,
  /** Times before the year 10000. */
  overviewSecondsMax: 253_402_300_800,
  overviewAppsMax: 100,
  overviewUsersMax: 20,
  /** Currencies come from the records: there may be any number of them. */
  overviewCurrenciesMax: 20,
  /** Searches, lists with a keyword, and overviews that are read concurrently for one worker. */
  scansMax: 2,

  childChunkUnitsMax: 100_000,
  conversationNameUnitsMax: 255,
  feedbackUnitsMax: 10_000,
  bodyBytesMax: 1_048_576,
  /** The sign-in route reads a body before the caller is authenticated, so the limit is that of the headers. */
  signInBodyBytesMax: 16_384,
  /** Request bytes read and discarded after an early response, so that the client receives the response. */
  drainBytesMax: 8_388_608,
  drainMillisMax: 10_000,
  /** After an error response to invalid HTTP: time until the connection is closed, if the client does not close it. */
  closeMillis: 2_000,
  /** At shutdown: how long an idle connection stays open for a request that was already sent. */
  lingerMillis: 500,
  headerBytesMax: 16_384,
  headersMillisMax: 15_000,
  bodyMillisMax: 30_000,
  /** Maximum time between two chunks of a streamed upload. */
  bodyIdleMillisMax: 60_000,
  keepAliveMillis: 72_000,

  /** Together with `pageMessagesMax` this also bounds a page. */
  recordBytesMax: 4_194_304,
  jsonDepthMax: 100,
  decimalCharsMax: 200,
  idUnitsMax: 255,
  /** Validated records of an import beyond this size are spooled to disk until they are applied. */
  spoolBytesMin: 4_194_304,

  /** Ids in one audit entry. Records beyond this are only counted. */
  auditIdsMax: 100,
  /** Days in which a disliked or failed message without a review is open. */
  reviewDays: 30,
  reviewUnitsMax: 10_000,
  reviewLabelsMax: 20,
  reviewLabelUnitsMax: 64,
  reviewHistoryMax: 20,
  reviewRevisionsMax: 200,
  /** Open messages, and reviews of each state whose labels are counted. */
  reviewsCountedMax: 1_000,
  savedViewUnitsMax: 80,
  savedAddressUnitsMax: 2_000,
  /** Audit entries deleted or read by one statement. */
  auditBatchMax: 1_000,
  /** Audit entries that one request compares with a filter for which there is no index. */
  auditScanMax: 20_000,
  /** Records of one audit entry that are listed with their names. */
  namedRecordsMax: 10,
  /** Conversations that one transaction erases. */
  erasedConversationsMax: 200,
  /** A purge waits this long until the files of the embedded database have no copies of what was erased. */
  cleanMillisMax: 5_000,
  retentionDaysMin: 1,
  retentionDaysMax: 36_500,
  /** The year 5138. */
  epochSecondsMax: 99_999_999_999,

  /** Changed conversations that one transaction counts for the totals of users. */
  countedTogetherMax: 50,
  /** Users whose names one request compares with a part of a name. */
  usersScanMax: 20_000,
  /** Hours of which failed requests are counted by key, and the number of keys in a response. */
  keyErrorHours: 24,
  /** Time in which clients take the new secret of a rotated key. */
  rotationSeconds: 86_400,
  keyErrorsMax: 100,

  /** Time between two writes of `last_used_at` and of errors by key. */
  lastUsedIntervalMillis: 30_000,

  /** Entries in one page of the change feed, and its size in bytes. */
  changesDefault: 100,
  changesMax: 1_000,
  changesBytesMax: 8_388_608,
  changesWaitSecondsMax: 60,
  /** Requests that wait for changes at the same time, in all workers. */
  waitingMax: 200,
  /** Records that one transaction sequences, and rows that one page of the feed reads at most. */
  changesBatchMax: 1_000,
  /** Maximum time that `/metrics` waits for the database. */
  metricsMillisMax: 1_000,

  /** Tokens of a record that are indexed, and their UTF-16 units: a `tsvector` of PostgreSQL has at most 1 MiB. */
  searchTokensMax: 16_000,
  searchTokenUnitsMax: 300_000,
  /** Counts of search results stop here. */
  searchCountMax: 10_000,
  /** The newest hits of one search among which the best are found. */
  searchRankedMax: 200,
  /** Candidates of one search whose texts are compared with a phrase. */
  searchCandidatesMax: 2_000,
  /** The same while none of them has the phrase. */
  searchMissesMax: 10_000,
  /** Texts that one search reads, and how long it takes at most. The client continues where it has ended. */
  searchBytesMax: 67_108_864,
  searchMillisMax: 5_000,
  snippetUnits: 160,
  /** Messages of one conversation that a transaction of the indexer writes at most. */
  indexWriteMax: 50,
  /** Duration of a transaction of the indexer. */
  indexWriteMillis: 50,

  /** Time between two lines about the progress of a copy. */
  progressLogMillis: 30_000,
  /** Time between two polls of `serve`, and until a follower that has failed tries again. */
  followSeconds: 5,

  /** Lifetime of a console session. */
  sessionSeconds: 43_200,
  /** Lifetime of a sign-in link. */
  signInLinkSeconds: 600,

  /** Datasets of one key created over HTTP. */
  keyDatasetsMax: 1_000,
  secretRandomBytes: 30,
  failedKeysPerMinuteMax: 100,

  /** Time spent on requests in one tick of the event loop; further requests are queued. */
  tickMillisMax: 20,
  /** A request queued for longer is rejected, if it has also waited for at least `queueTicksMin` ticks. */
  queueMillisMax: 250,
  queueTicksMin: 8,
  /** Total size of responses that clients have not read yet. */
  unreadBytesMax: 268_435_456,
  connectionsMax: 10_000,
  /** Requests to the upstream at the same time, each on its own connection. */
  upstreamRequestsMax: 256,
  upstreamBodyBytesMax: 104_857_600,
  /** How long the result of a request says whether the upstream is available. */
  upstreamStateMillis: 10_000,
  upstreamConnectMillisMax: 5_000,
  /** Until the first byte of the response: a model may think for long. */
  upstreamResponseMillisMax: 600_000,
  upstreamIdleMillisMax: 120_000,
  /** The same for what this server can respond to instead: front ends wait for that before they show anything. */
  upstreamUrgentMillisMax: 2_000,
  /** The end of a response waits this long for its message. */
  heldMillisMax: 900,
  /** Log lines that wait for a reader; further ones are dropped. */
  logBufferBytesMax: 2_097_152,

  writeWaitMillisMax: 5_000,
  shutdownMillisMax: 20_000,
} as const;

/** Not from `node:assert`: the console loads this module in browsers. */
function assert(isTrue: boolean, message?: string): void {
  if (!isTrue) throw new Error(message);
}
assert(limits.childChunkUnitsMax * 6 < limits.bodyBytesMax, 'JSON needs up to six bytes for a UTF-16 code unit');
assert(limits.secretRandomBytes * 8 >= 160, 'a secret has at least 160 random bits');
assert(limits.pageMessagesDefault <= limits.pageMessagesMax);
assert(limits.lingerMillis * 2 < limits.shutdownMillisMax, 'idle connections are closed before the shutdown times out');

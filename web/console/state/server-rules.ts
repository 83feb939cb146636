/** Rules of the service that the console applies too. Browsers load these modules, so they import nothing. */
export { type KeyKind, keyKinds, keyKindTable, readOnlyKinds } from '../../../server/src/contract/key-kinds.ts';
export { limits } from '../../../server/src/contract/limits.ts';
export { chatModes, notBlank } from '../../../server/src/contract/rules.ts';
export { countWords } from '../../../server/src/domain/records/count-words.ts';
export { diffWords, type Part } from '../../../server/src/domain/words/word-diff.ts';

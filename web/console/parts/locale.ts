/**
 * The console speaks English, so its numbers and dates do too: in the reader's own kind of English, if they have one.
 * Else `1 message` would stand beside an hour in words, or digits, of another language.
 */
export const locale = navigator.languages.find((one) => /^en\b/i.test(one)) ?? 'en-GB';

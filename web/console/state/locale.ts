/**
 * The console is in English, so its numbers and dates are too, in the user's variant of English if the browser names
 * one. A browser may name a tag that is not valid (`en-US@posix`, from the system's settings), which `Intl` rejects.
 */
export const locale = navigator.languages.find((tag) => /^en\b/i.test(tag) && isValid(tag)) ?? 'en-GB';

function isValid(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}

/** Matches a character that is not white space. Unicode counts U+0085 as white space, `\s` does not. */
export const notBlank = /[^\s\u0085]/;

/** PostgreSQL stores no text with NUL. */
export const noNul = /^[^\u0000]*$/;

/** Base64url of a JSON array that begins with a text or a number, or empty: absent. What a list accepts is narrower: its own sort key. */
export const cursorPattern = /^(?:W[yz][A-Za-z0-9_-]*(?:XQ|0|d))?$/;
export const cursorProblem = 'must be a cursor of an earlier page';

/** Messages can be listed only for apps with one of these modes. */
export const chatModes: readonly string[] = ['advanced-chat', 'agent', 'chat', 'agent-chat'];

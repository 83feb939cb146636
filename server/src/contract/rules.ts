/** Finds a character that is not white space. U+0085 is white space in Unicode, but not for `\s`. */
export const notBlank = /[^\s\u0085]/;

/** PostgreSQL stores no text with NUL. */
export const noNul = /^[^\u0000]*$/;

/** Base64url of a JSON array that begins with a text or a number. What a list accepts is narrower: its own sort key. */
export const cursorPattern = /^W[yz][A-Za-z0-9_-]*(?:XQ|0|d)$/;
export const cursorProblem = 'must be the next_cursor of an earlier page';

/** Apps with another mode have no pages of messages. */
export const chatModes: readonly string[] = ['advanced-chat', 'agent', 'chat', 'agent-chat'];

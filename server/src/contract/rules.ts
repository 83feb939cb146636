/** Finds a character that is not white space. U+0085 is white space in Unicode, but not for `\s`. */
export const notBlank = /[^\s\u0085]/;

/** Apps with another mode have no pages of messages. */
export const chatModes: readonly string[] = ['advanced-chat', 'agent', 'chat', 'agent-chat'];

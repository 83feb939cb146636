/** Matches a character that is not white space. Unicode counts U+0085 as white space, `\s` does not. */
export const notBlank = /[^\s\u0085]/;

/** Messages can be listed only for apps with one of these modes. */
export const chatModes: readonly string[] = ['advanced-chat', 'agent', 'chat', 'agent-chat'];

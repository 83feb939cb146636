import { orElse } from './or-else.ts';

/** JSON with line breaks; any other text as it is. */
export const prettyJson = (text: string): string => orElse(() => JSON.stringify(JSON.parse(text), null, 2), text);

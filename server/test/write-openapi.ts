import { writeFileSync } from 'node:fs';
import { readOpenapi } from './read-openapi.ts';

/** `npm run openapi` writes openapi.json anew; the tests compare it. */
writeFileSync(new URL('../../openapi.json', import.meta.url), await readOpenapi());

import { writeFileSync } from 'node:fs';
import { examplesFile } from '../../src/http/openapi/examples.ts';
import { readOpenapi } from './read-openapi.ts';
import { recordExamples } from './record-examples.ts';

/** `npm run openapi` records the examples and writes openapi.json again; the tests compare both. */
const examples = await recordExamples(JSON.parse(await readOpenapi()));
writeFileSync(examplesFile, `${JSON.stringify(examples, null, 2)}\n`);
writeFileSync(new URL('../../../openapi.json', import.meta.url), await readOpenapi());

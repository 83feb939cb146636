import { readFileSync, writeFileSync } from 'node:fs';
import { examplesFile, recordExamplesFile } from '../example-requests.ts';
import { readOpenapi } from './read-openapi.ts';
import { recordExamples } from './record-examples.ts';

/** `npm run openapi` records the examples and writes openapi.json again; the tests compare both. */
const page = readFileSync(new URL('../../../../docs/use/records.md', import.meta.url), 'utf8');
const records = [...page.matchAll(/^```json\n(\{"record":.*)\n```$/gm)].map(([, line = '']) => JSON.parse(line));
const byKind = Object.fromEntries(records.map((record) => [record.record, record]));
writeFileSync(recordExamplesFile, `${JSON.stringify(byKind, null, 2)}\n`);
const examples = await recordExamples(JSON.parse(await readOpenapi()));
writeFileSync(examplesFile, `${JSON.stringify(examples, null, 2)}\n`);
writeFileSync(new URL('../../../../openapi.json', import.meta.url), await readOpenapi());

import { readFile } from 'node:fs/promises';
import { type OpenApi, operationsOf } from './document.ts';

/** Parameters of a request. A list is a repeated parameter. */
export type ExampleParameters = Record<string, string | number | readonly string[]>;

/** A request to a service with the starter records, and its response. */
export type Example = {
  parameters: ExampleParameters;
  body?: unknown;
  status: number;
  /** Undefined if it has no body. */
  response?: unknown;
};
/** By operation id. */
export type Examples = Record<string, Example>;

/** Recorded by `npm run openapi`; a test sends the requests again and compares. */
export const examplesFile = new URL('../../../starter/examples.json', import.meta.url);

/** An example of each kind of record, copied from docs/use/records.md by `npm run openapi`. */
export const recordExamplesFile = new URL('../../../starter/record-examples.json', import.meta.url);

export async function readRecordExamples(): Promise<Record<string, object>> {
  return JSON.parse(await readFile(recordExamplesFile, 'utf8'));
}

export async function readExamples(): Promise<Examples> {
  return JSON.parse(await readFile(examplesFile, 'utf8'));
}

/** Adds each example to the parameters, the body and the response of its operation. */
export function addExamples(document: OpenApi, examples: Examples): void {
  for (const operation of operationsOf(document)) {
    const example = examples[operation.operationId];
    if (example === undefined) continue;
    for (const parameter of operation.parameters ?? []) {
      const value = example.parameters[parameter.name];
      if (value !== undefined) parameter.example = value;
    }
    for (const content of Object.values(operation.requestBody?.content ?? {})) content.example = example.body;
    const response = operation.responses[example.status];
    const content = response && 'content' in response ? response.content?.['application/json'] : undefined;
    if (content !== undefined) content.example = example.response;
  }
}

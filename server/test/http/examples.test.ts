import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { examplesFile } from '../support/example-requests.ts';
import { recordExamples } from '../support/openapi/record-examples.ts';
import { openapiFile, validatorOf } from '../support/openapi-check.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read the document freely
type Json = any;
const document: Json = JSON.parse(readFileSync(openapiFile, 'utf8'));
const operations: Json[] = Object.values<object>(document.paths).flatMap((methods) => Object.values(methods));

describe('examples of the OpenAPI document', () => {
  it('are the responses of a service with the starter records (`npm run openapi` records them)', async () => {
    assert.deepEqual(await recordExamples(document), JSON.parse(readFileSync(examplesFile, 'utf8')));
  });

  it('exist for every JSON response, request body and required parameter', () => {
    for (const { operationId, parameters = [], requestBody, responses } of operations) {
      const [, success] = Object.entries<Json>(responses).find(([status]) => status < '300') ?? [];
      const response = success?.content?.['application/json'];
      if (response !== undefined) assert.notEqual(response.example, undefined, `${operationId}: its response`);
      for (const [type, content] of Object.entries<Json>(requestBody?.content ?? {}))
        assert.notEqual(content.example, undefined, `${operationId}: its body, ${type}`);
      for (const { name, required, example } of parameters)
        if (required) assert.notEqual(example, undefined, `${operationId}: ${name}`);
    }
  });

  it('match their schemas', () => {
    let count = 0;
    const check = (at: string, { schema, example }: Json): void => {
      if (example === undefined) return;
      const validator = validatorOf(schema);
      assert.ok(validator.Check(example), `${at}: ${JSON.stringify(validator.Errors(example)[0])}`);
      count += 1;
    };
    for (const { operationId, parameters = [], requestBody, responses } of operations) {
      for (const parameter of parameters) check(`${operationId}: ${parameter.name}`, parameter);
      for (const content of Object.values<Json>(requestBody?.content ?? {})) check(`${operationId}: body`, content);
      for (const [status, { content = {} }] of Object.entries<Json>(responses))
        for (const mediaType of Object.values<Json>(content)) check(`${operationId}: ${status}`, mediaType);
    }
    assert.ok(count > 10);
  });

  it('contain no secret', () => {
    assert.doesNotMatch(JSON.stringify(operations), /\b(?:app|dataset|writer|feed|admin)-[\w-]{20,}/);
  });
});

import { Readable } from 'node:stream';
import { limits } from '../../contract/limits.ts';
import { integer, shape } from '../../contract/primitives.ts';
import { recordKinds } from '../../contract/record.ts';
import { Type } from '../../contract/type.ts';
import { importRecords } from '../../domain/import/import-records.ts';
import { responses, textResponse } from '../openapi/openapi.ts';
import { requireContentType, streamBody } from '../request/body.ts';
import type { Routes } from '../route-types.ts';

const ndjson = 'application/x-ndjson';
const url = '/admin/records';
const about = { tags: ['Records'] };
const Imported = shape(
  { records: integer('Number of imported records.') },
  { description: 'All records were imported.' },
);

export const recordRoutes: Routes = (app, { store, bearer, clock, validateLines, owned }) => {
  app.addContentTypeParser(ndjson, (_request, payload, done) => done(null, payload));

  app.route({
    method: 'POST',
    url,
    schema: {
      ...about,
      operationId: 'importRecords',
      summary: 'Import records',
      description:
        `NDJSON, one record per line, of the kinds ${recordKinds.map((kind) => `\`${kind}\``).join(', ')}. All or ` +
        'nothing: the first invalid line stops the import, and the error names it. A writer key allows `conversation` and ' +
        '`message` records of its app.',
      security: [{ adminKey: [] }, { writerKey: [] }, { consoleSession: [] }],
      body: {
        content: { [ndjson]: { schema: Type.String({ description: 'NDJSON, one record per line.' }) } },
      },
      response: responses({ 200: Imported }, [400, 401, 403, 408, 415]),
    },
    // The body is a stream here. Its lines are validated while they arrive.
    validatorCompiler: () => () => true,
    config: { isUpload: true },
    onRequest: [bearer.requireAdmin(['admin', 'writer']), requireContentType(ndjson)],
    handler: async ({ caller, raw }) => {
      if (caller?.kind !== 'admin' && caller?.kind !== 'writer')
        throw new Error('the route requires one of these kinds');
      if (caller.kind === 'writer') await owned?.requireOwnApp(caller.app.id);
      const now = Math.floor(clock() / 1000);
      const sources = [{ bytes: streamBody(raw) }];
      return { records: await importRecords(store, caller, sources, now, { validate: validateLines }) };
    },
  });

  app.route({
    method: 'GET',
    url,
    schema: {
      ...about,
      operationId: 'exportRecords',
      summary: 'Export records',
      description: 'All data as records: parents before children, from one consistent snapshot.',
      security: [{ adminKey: [] }],
      response: responses({ 200: textResponse(ndjson, 'NDJSON, one record per line.') }, [401]),
    },
    onRequest: bearer.requireKey(['admin']),
    handler: async (request, reply) => {
      // A client that stops reading would keep its snapshot of the database open forever.
      reply.raw.setTimeout(limits.bodyIdleMillisMax, () => reply.raw.destroy());
      reply.header('content-type', ndjson).header('cache-control', 'no-store');
      return reply.send(Readable.from(request.method === 'HEAD' ? [] : store.exportRecords()));
    },
  });
};

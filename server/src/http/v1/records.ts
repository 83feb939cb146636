import { ExportQuery, MessageExportQuery } from '../../contract/admin.ts';
import { described, epochSeconds, integer } from '../../contract/primitives.ts';
import { recordKinds } from '../../contract/record.ts';
import { Type } from '../../contract/type.ts';
import { exportCsv, exportRecords } from '../../domain/export/export-records.ts';
import { importRecords } from '../../domain/import/import-records.ts';
import { parseKinds } from '../../domain/records/parse-kinds.ts';
import { selectionOf } from '../../domain/store/selection.ts';
import { responses, textResponse } from '../openapi/openapi.ts';
import { operation } from '../operation.ts';
import { requireContentType, streamBody } from '../request/body.ts';
import { sendLargePage } from '../response/large-page.ts';
import { type Routes, together } from '../route-types.ts';

const ndjson = 'application/x-ndjson';
const url = '/admin/records';
const about = { tags: ['Records'] };
const Imported = described('All records were imported.', {
  records: integer('Number of imported records.'),
  erased: Type.Optional(
    described('With an admin key, if some of the records were erased here before. They are stored again.', {
      records: integer('Number of these records.'),
      last_at: epochSeconds('When the last of them was erased.'),
    }),
  ),
});

const importRoute: Routes = (app, { store, bearer, clock, metrics, validateLines }) => {
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
        '`message` records of its app: this is how a chat back end appends messages.',
      security: [{ writerKey: [] }, { adminKey: [] }, { consoleSession: [] }],
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
      const now = Math.floor(clock() / 1000);
      const sources = [{ bytes: streamBody(raw) }];
      const options = { validate: validateLines };
      const { records, messages, erased } = await importRecords(store, caller, sources, now, options);
      metrics.countMessages(messages);
      return { records, ...(erased && { erased }) };
    },
  });
};

export const recordRoutes = together(
  importRoute,
  operation('exportRecords', ['admin'], 'GET', url, {
    ...about,
    summary: 'Export records',
    description:
      'All data as records: parents before children, from one consistent snapshot. With a filter by app, user, ' +
      'conversation or time, the export has the selected conversations and messages with their apps and workspaces, so that ' +
      'it can be imported. It then never has keys, and with `from` or `to` only conversations with messages in that time. ' +
      'Deleted conversations are included.',
    querystring: ExportQuery,
    response: textResponse(ndjson, 'NDJSON, one record per line.'),
    errors: [403, 404],
    run: async ({ query, disconnected, store }, reply) => {
      const selection = { ...selectionOf(query), kinds: parseKinds(query.kinds, recordKinds) };
      const records = await exportRecords(store, selection, disconnected(), query.reads === '1');
      return sendLargePage(reply.header('content-type', ndjson), records);
    },
  }),
  operation('exportMessages', ['admin'], 'GET', '/admin/messages.csv', {
    ...about,
    summary: 'Export messages as CSV',
    description:
      'One row for each selected message, after a header: RFC 4180, in UTF-8. Text that begins like a formula of a ' +
      "spreadsheet (`=`, `+`, `-`, `@`, also wide ones, tab, line break) has `'` before it, at the start of a cell and after " +
      '`;`. Numbers stay as they are. Deleted conversations are included.',
    querystring: MessageExportQuery,
    response: textResponse('text/csv', 'The rows.'),
    errors: [403, 404],
    run: async ({ query, disconnected, store }, reply) => {
      const rows = await exportCsv(store, selectionOf(query), disconnected());
      reply.header('content-type', 'text/csv; charset=utf-8; header=present');
      reply.header('content-disposition', 'attachment; filename="messages.csv"');
      return sendLargePage(reply, rows);
    },
  }),
);

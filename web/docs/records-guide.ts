import { el, h } from '../shared/dom.ts';
import type { Document, RecordKind } from './document.ts';
import { prose } from './prose.ts';
import { Collapsible, SchemaView } from './schema-view.ts';
import { CodeBlock } from './snippets/code-block.ts';

/** The names of all kinds and fields, for the filter. */
export const recordWords = (document: Document): string =>
  document['x-records']
    .map(({ kind, schema }) => `${kind} ${Object.keys(schema.properties ?? {}).join(' ')}`)
    .join(' ');

/** The records that are imported and exported: their fields, with an example of each kind. */
export function Records({ document }: { document: Document }) {
  return [
    el(
      'p',
      prose(
        'All data is imported and exported as lines of JSON, one record per line, parents before children: by ' +
          '`npx backscroll import`, or with ',
      ),
      h('a', { href: '#importRecords' }, 'Import records'),
      '. A record replaces the stored one with the same id. A field that is not required has a default.',
    ),
    document['x-records'].map((record) =>
      h(Collapsible, { key: record.kind, label: record.kind, children: () => h(Kind, { document, record }) }),
    ),
  ];
}

function Kind({ document, record: { schema, example } }: { document: Document; record: RecordKind }) {
  const { record: _, ...properties } = schema.properties ?? {};
  return el(
    'div.stack',
    h(SchemaView, { document, schema: { ...schema, properties }, isRequest: true }),
    h(CodeBlock, { label: 'Example', text: JSON.stringify(example, null, 2), isJson: true }),
  );
}

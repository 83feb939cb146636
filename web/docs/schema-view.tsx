import type { ComponentChildren } from 'preact';
import { Fold } from '../shared/controls.tsx';
import { type Document, resolve, type Schema } from './document.ts';
import { prose } from './prose.tsx';

/** `isRequest`: whether to say which fields are required. A response has all its fields that are not optional. */
type Props = { document: Document; schema: Schema; isRequest?: boolean };

/** The fields of a request or response body. Nested fields are created when the user opens them. */
export function SchemaView({ document, schema, isRequest = false }: Props) {
  const { schema: seen } = resolve(document, schema);
  const inner = innerOf(document, seen);
  if (inner === undefined) return <p class="type">{typeText(document, schema)}</p>;
  const required = new Set(inner.required);
  return (
    <ul class="fields plain">
      {Object.entries(inner.properties ?? {}).map(([name, field]) => (
        <Field
          key={name}
          document={document}
          name={name}
          schema={field}
          isRequest={isRequest}
          isOptional={!required.has(name)}
        />
      ))}
    </ul>
  );
}

type FieldProps = Props & { name: string; isOptional: boolean };

function Field({ document, name, schema, isRequest = false, isOptional }: FieldProps) {
  const { schema: seen } = resolve(document, schema);
  const inner = innerOf(document, seen);
  const need = isRequest ? (isOptional ? undefined : 'required') : isOptional ? 'optional' : undefined;
  return (
    <Entry name={name} type={typeText(document, schema)} need={need} notes={seen}>
      {inner !== undefined && (
        <Fold title={`Fields of ${name}`}>
          <SchemaView document={document} schema={inner} isRequest={isRequest} />
        </Fold>
      )}
    </Entry>
  );
}

type EntryProps = {
  name: string;
  type?: string;
  need?: 'required' | 'optional' | undefined;
  notes: Schema;
  children?: ComponentChildren;
};

/** A field, a parameter or a header in a list. */
export const Entry = ({ name, type, need, notes, children }: EntryProps) => (
  <li>
    <p class="field row">
      <code class="name">{name}</code>
      {type && <span class="type">{type}</span>}
      {need && <span class={need === 'required' ? 'badge warn' : 'badge'}>{need}</span>}
    </p>
    <Notes schema={notes} />
    {children}
  </li>
);

/** The description of a value and the allowed values. */
export function Notes({ schema }: { schema: Schema }) {
  const { description, default: preset, minimum, maximum, minLength, maxLength } = schema;
  const values = (schema.items?.enum ?? schema.enum ?? []).filter((value) => value !== null);
  const bounds = [
    ...(minimum !== undefined || maximum !== undefined ? [`${minimum ?? '…'} to ${maximum ?? '…'}`] : []),
    ...(maxLength !== undefined ? [`${minLength ?? 0} to ${maxLength.toLocaleString('en')} characters`] : []),
  ];
  return (
    <div class="soft">
      {description !== undefined && <p>{prose(description)}</p>}
      {values.length > 0 && (
        <p>
          One of{' '}
          {values.map((value, at) => (
            <>
              {at > 0 && ', '}
              <code key={at}>{String(value)}</code>
            </>
          ))}
          .
        </p>
      )}
      {bounds.length > 0 && <p>{bounds.join('; ')}.</p>}
      {preset !== undefined && !description?.includes('Default:') && (
        <p>
          Default: <code>{JSON.stringify(preset)}</code>.
        </p>
      )}
    </div>
  );
}

/** The object with the fields: the schema itself, or the items of a list. Undefined if there are no fields. */
function innerOf(document: Document, schema: Schema): Schema | undefined {
  if (schema.properties !== undefined) return schema;
  if (schema.items === undefined) return undefined;
  return innerOf(document, resolve(document, schema.items).schema);
}

export function typeText(document: Document, unresolved: Schema): string {
  const { schema, name, nullable } = resolve(document, unresolved);
  const { type, format, items, additionalProperties } = schema;
  const kind =
    items !== undefined
      ? `list of ${typeText(document, items)}`
      : name !== undefined
        ? name
        : type === 'object' && typeof additionalProperties === 'object'
          ? `object of ${typeText(document, additionalProperties)}`
          : type === undefined
            ? 'any JSON'
            : [type].flat().join(' or ');
  return `${kind}${format === undefined ? '' : ` (${format})`}${nullable ? ' or null' : ''}`;
}

import type { ComponentChildren } from 'preact';
import { Fold, joined } from '../shared/controls.tsx';
import { type Schema, withoutNull } from './document.ts';
import { prose } from './prose.tsx';

/** `isRequest`: whether to say which fields are required. A response has all its fields that are not optional. */
type Props = { schema: Schema; isRequest?: boolean };

/** The fields of a request or response body. Nested fields are created when the user opens them. */
export function SchemaView({ schema, isRequest = false }: Props) {
  const inner = innerOf(schema);
  if (inner === undefined) return <p class="type">{typeText(schema)}</p>;
  return (
    <ul class="fields plain">
      {Object.entries(inner.properties ?? {}).map(([name, field]) => (
        <Field
          key={name}
          name={name}
          schema={field}
          isRequest={isRequest}
          isRequired={inner.required?.includes(name)}
        />
      ))}
    </ul>
  );
}

type FieldProps = Props & { name: string; isRequired: boolean | undefined };

function Field({ name, schema, isRequest = false, isRequired = false }: FieldProps) {
  const inner = innerOf(schema);
  const need = isRequest === isRequired ? (isRequest ? 'required' : 'optional') : undefined;
  return (
    <Entry name={name} type={typeText(schema)} need={need} notes={withoutNull(schema).schema}>
      {inner !== undefined && (
        <Fold title={`Fields of ${name}`}>
          <SchemaView schema={inner} isRequest={isRequest} />
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
      {values.length > 0 && <p>One of {joined(values.map((value) => <code>{String(value)}</code>))}.</p>}
      {bounds.length > 0 && <p>{bounds.join('; ')}.</p>}
      {preset !== undefined && !description?.includes('Default:') && (
        <p>
          Default: <code>{JSON.stringify(preset)}</code>.
        </p>
      )}
    </div>
  );
}

/** The object with the fields: what the value is, or the items of a list. Undefined if there are no fields. */
function innerOf(nullable: Schema): Schema | undefined {
  const { schema } = withoutNull(nullable);
  return schema.properties !== undefined ? schema : schema.items && innerOf(schema.items);
}

function typeText(one: Schema): string {
  const { schema, nullable } = withoutNull(one);
  const { name, type = 'any JSON', format, items, additionalProperties } = schema;
  const types = [type].flat().join(' or ');
  const isMap = types === 'object' && typeof additionalProperties === 'object';
  const kind = items
    ? `list of ${typeText(items)}`
    : (name ?? (isMap ? `object of ${typeText(additionalProperties)}` : types));
  return `${kind}${format === undefined ? '' : ` (${format})`}${nullable ? ' or null' : ''}`;
}

import type {
  TArray,
  TBoolean,
  TInteger,
  TLiteral,
  TNumber,
  TNumberOptions,
  TObject,
  TObjectOptions,
  TOptional,
  TProperties,
  TSchema,
  TSchemaOptions,
  TString,
  TStringOptions,
  TUnsafe,
} from 'typebox';

const optional = new WeakSet<TSchema>();

/**
 * The constructors of TypeBox that the contract needs, with the same schemas and static types. Importing `typebox` itself
 * would load hundreds of modules at every start.
 */
export const Type = {
  String: (options?: TStringOptions) => ({ type: 'string', ...options }) as TString,
  Integer: (options?: TNumberOptions) => ({ type: 'integer', ...options }) as TInteger,
  Number: (options?: TNumberOptions) => ({ type: 'number', ...options }) as TNumber,
  Boolean: (options?: TSchemaOptions) => ({ type: 'boolean', ...options }) as TBoolean,
  Literal: <const V extends string>(value: V) => ({ type: 'string', const: value }) as unknown as TLiteral<V>,
  /** Any schema, with a given static type. */
  Unsafe: <T>(schema: TSchema) => schema as TUnsafe<T>,
  Array: <S extends TSchema>(items: S, options?: TSchemaOptions) =>
    ({ type: 'array', items, ...options }) as unknown as TArray<S>,
  /** A property that an object may omit. */
  Optional: <S extends TSchema>(schema: S) => {
    const optionalSchema = { ...schema };
    optional.add(optionalSchema);
    return optionalSchema as TOptional<S>;
  },
  Object: <P extends TProperties>(properties: P, options?: TObjectOptions) => {
    const required = Object.keys(properties).filter((name) => !optional.has(properties[name] as TSchema));
    return {
      type: 'object',
      ...(required.length > 0 && { required }),
      properties,
      ...options,
    } as unknown as TObject<P>;
  },
};

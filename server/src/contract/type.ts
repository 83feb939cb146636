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
 * The few constructors of TypeBox that the contract needs: the same schemas, the same static types. TypeBox's own come
 * with all that derives types from types, hundreds of modules, which every start would load.
 */
export const Type = {
  String: (options?: TStringOptions) => ({ type: 'string', ...options }) as TString,
  Integer: (options?: TNumberOptions) => ({ type: 'integer', ...options }) as TInteger,
  Number: (options?: TNumberOptions) => ({ type: 'number', ...options }) as TNumber,
  Boolean: (options?: TSchemaOptions) => ({ type: 'boolean', ...options }) as TBoolean,
  Literal: <const V extends string>(value: V) => ({ type: 'string', const: value }) as unknown as TLiteral<V>,
  /** A schema in its own words, for values of a type that is given. */
  Unsafe: <T>(schema: TSchema) => schema as TUnsafe<T>,
  Array: <S extends TSchema>(items: S, options?: TSchemaOptions) =>
    ({ type: 'array', items, ...options }) as unknown as TArray<S>,
  /** Marks a property that an object may leave out. */
  Optional: <S extends TSchema>(schema: S) => {
    const marked = { ...schema };
    optional.add(marked);
    return marked as TOptional<S>;
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

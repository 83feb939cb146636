type Content = Record<string, { example?: unknown }>;
type Response = { $ref: string } | { description: string; headers?: object; content?: Content };

/** An operation, as far as it is completed here. */
type Operation = {
  operationId: string;
  security?: object[];
  parameters?: { name: string; example?: unknown }[];
  requestBody?: { content: Content; required?: boolean };
  responses: Record<string, Response>;
};

/** The OpenAPI document of the framework. */
export type OpenApi = {
  paths?: Record<string, object | undefined>;
  components?: { responses?: object; schemas?: object; headers?: object };
};

export const operationsOf = ({ paths = {} }: OpenApi): Operation[] =>
  Object.values(paths).flatMap((operations = {}) => Object.values(operations));

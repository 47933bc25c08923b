/** The parts of an OpenAPI 3.1 document that are read here. */
export type OpenApiDocument = {
  openapi: string;
  info: { title: string; version: string; description?: string; license?: unknown };
  servers?: { url: string }[];
  tags?: Tag[];
  /** An extension of Redocly and Scalar: groups of tags. */
  'x-tagGroups'?: TagGroup[];
  paths: Record<string, Record<string, Operation>>;
  components?: Components;
};

export type Tag = { name: string; description?: string };
export type TagGroup = { name: string; tags: string[] };
export type Components = {
  schemas?: Record<string, Schema>;
  responses?: Record<string, Response>;
  securitySchemes?: Record<string, unknown>;
};

export type Operation = {
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  security?: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody?: { content: Content; required?: boolean };
  responses: Record<string, Response | Reference>;
};

export type Parameter = {
  name: string;
  in: string;
  description?: string;
  required?: boolean;
  deprecated?: boolean;
  schema?: Schema;
};

export type Reference = { $ref: string };
export type Content = Record<
  string,
  { schema?: Schema; example?: unknown; examples?: Record<string, { value: unknown }> }
>;
export type Response = {
  description: string;
  headers?: Record<string, { description?: string; required?: boolean }>;
  content?: Content;
};

/** A JSON Schema (2020-12), as far as it is shown. */
export type Schema = {
  $ref?: string;
  type?: string | string[];
  title?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  format?: string;
  pattern?: string;
  deprecated?: boolean;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
};

const PREFIX = '#/components/';

/** The component that a reference points to; anything else is returned as it is. Throws when there is none. */
export function resolve<T extends object>(document: OpenApiDocument, given: T | Reference): T {
  if (!('$ref' in given) || typeof given.$ref !== 'string') return given as T;
  const [kind = '', name = ''] = given.$ref.slice(PREFIX.length).split('/');
  const found = document.components?.[kind as keyof Components]?.[name];
  if (!given.$ref.startsWith(PREFIX) || found === undefined)
    throw new Error(`${given.$ref} is not in the document`);
  return found as T;
}

/** The name of the component that is referred to. */
export function nameOf({ $ref }: { $ref?: string | undefined }): string | undefined {
  return $ref?.split('/').at(-1);
}

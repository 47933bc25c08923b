import { type FieldProblem, MAX_DETAILS, ServiceError } from '@gatehouse/core/errors';
import { Ajv, type ErrorObject } from 'ajv';
import buildSerializer from 'fast-json-stringify';
import type { Static, TObject, TSchema } from 'typebox';

/** Our own schemas are not validated against the meta-schema, which would take half of the time of compiling them. */
const shared = { useDefaults: true, allowUnionTypes: true, validateSchema: false } as const;
/** The values in a body have types: nothing is converted, and unknown properties are ignored unless a schema is closed. */
const typed = { ...shared, coerceTypes: false } as const;
/** `bodies` stops at the first problem, since a body can have a hundred thousand; `shortBodies` finds all problems of a short one. */
const bodies = new Ajv(typed);
const shortBodies = new Ajv({ ...typed, allErrors: true });
/** The values in a query are strings, which are converted; a repeated parameter is an array. */
const queries = new Ajv({ ...shared, allErrors: true, coerceTypes: true });

/** A keyword for further keywords that only the published document has. */
const DOCUMENTED = 'x-documented';
for (const ajv of [bodies, shortBodies, queries]) ajv.addKeyword(DOCUMENTED);

/**
 * Limits of a field that the aggregate checks, as JSON Schema keywords for the published document. The validators leave
 * them to the aggregate, whose messages are more specific.
 */
export function documentedLimits(keywords: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return { [DOCUMENTED]: keywords };
}

/** A schema as it is published, with the limits that are documented in it. */
export function publishedSchema(schema: object): Record<string, unknown> {
  const published = JSON.stringify(schema, (_name, value: unknown) => {
    if (typeof value !== 'object' || value === null || !(DOCUMENTED in value)) return value;
    const { [DOCUMENTED]: keywords, ...rest } = value as Record<string, object>;
    return { ...rest, ...keywords };
  });
  return JSON.parse(published) as Record<string, unknown>;
}

/**
 * The same schema, by which an object has no other properties than those that it names: a misspelt one is not ignored. An object that
 * names none takes any.
 */
export function closed<S extends TSchema>(schema: S): S {
  const text = JSON.stringify(schema, (_name, value: unknown) => {
    const { type, properties, additionalProperties } = Object(value);
    const isOpen =
      type === 'object' && additionalProperties === undefined && Object.keys(Object(properties)).length > 0;
    return isOpen ? { ...Object(value), additionalProperties: false } : value;
  });
  return JSON.parse(text) as S;
}

/**
 * Compiles a validator of request bodies. It returns the typed body, or throws `invalid` with a message and the list of
 * invalid fields: those in the first elements of lists, else the first. Unknown properties are left alone,
 * unless the schema is closed.
 */
export function bodyValidator<S extends TSchema>(schema: S): (body: unknown) => Static<S> {
  const validate = bodies.compile(schema);
  return (body) => {
    if (validate(body)) return body as Static<S>;
    // Compiled when it is first needed, which Ajv remembers.
    const validateShort = shortBodies.compile(schema);
    const errors = validateShort(shortened(body)) ? validate.errors : validateShort.errors;
    throw invalid(errors ?? []);
  };
}

/** The same for a request's query; numbers and booleans are converted, and defaults filled in. */
export function queryValidator<S extends TObject>(schema: S): (query: unknown) => Static<S> {
  const validate = queries.compile(schema);
  return (query) => {
    // A copy without a prototype, because the validator modifies its argument.
    const copy = Object.assign(Object.create(null), query);
    // The validator would also accept "0x10", "1e1" and " 1", so these are replaced by a value that it refuses.
    for (const [field, { type }] of Object.entries(schema.properties) as [string, { type?: string }][]) {
      if (type === 'integer' && typeof copy[field] === 'string' && !/^-?\d+$/.test(copy[field])) {
        copy[field] = {};
      }
    }
    if (!validate(copy)) throw invalid(validate.errors ?? []);
    // The validator accepts "Infinity" and "1e400" as numbers, whatever the bounds.
    for (const [field, value] of Object.entries(copy)) {
      if (value === Infinity || value === -Infinity) {
        throw invalidFields([{ field, message: 'must be a finite number' }]);
      }
    }
    return copy as Static<S>;
  };
}

/** Compiles a serializer of responses: properties that the schema does not name cannot leak. */
export function serializer<S extends TSchema>(schema: S): (value: Static<S>) => string {
  return buildSerializer(schema);
}

/** An `invalid` error about one or more fields of a request; it names the first MAX_DETAILS. */
export function invalidFields(problems: readonly FieldProblem[]): ServiceError {
  const details = problems.slice(0, MAX_DETAILS);
  // Some are sentences by themselves, such as "Enter a name."
  const texts = details.map(({ field, message }) =>
    /^\p{Lu}.*\.$/su.test(message) ? `${field}: ${message.slice(0, -1)}` : `${field} ${message}`,
  );
  return new ServiceError('invalid', `${texts.join('; ')}.`, { details });
}

/** A copy with the first elements of each list, in which more than one problem is looked for. */
function shortened(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, MAX_DETAILS).map(shortened);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shortened(member)]));
}

function invalid(errors: readonly ErrorObject[]): ServiceError {
  return invalidFields(errors.slice(0, MAX_DETAILS).map(problemOf));
}

/** The most characters of an unknown field's name that an error repeats. */
const MAX_NAME = 100;

function problemOf({ keyword, instancePath, params, message }: ErrorObject): FieldProblem {
  const path = instancePath.slice(1).replaceAll('/', '.');
  switch (keyword) {
    case 'required':
      return { field: [path, params.missingProperty].filter(Boolean).join('.'), message: 'is required' };
    case 'type':
      return {
        field: path === '' ? 'The body' : path,
        message: `must be ${[params.type].flat().map(withArticle).join(' or ')}`,
      };
    case 'additionalProperties':
      return {
        field: [path, params.additionalProperty].filter(Boolean).join('.').slice(0, MAX_NAME),
        message: 'is not a known field',
      };
    case 'enum':
      return { field: path, message: `must be one of ${(params.allowedValues as unknown[]).join(', ')}` };
    case 'minimum':
    case 'maximum':
      return {
        field: path,
        message: `must be ${keyword === 'minimum' ? 'at least' : 'at most'} ${params.limit}`,
      };
    case 'minLength':
    case 'maxLength':
      return { field: path, message: `must have ${sizeOf(keyword, params.limit, 'character')}` };
    case 'minItems':
    case 'maxItems':
      return { field: path, message: `must have ${sizeOf(keyword, params.limit, 'item')}` };
    default:
      return { field: path === '' ? 'The body' : path, message: message ?? 'is not valid' };
  }
}

function sizeOf(keyword: string, limit: number, unit: string): string {
  return `${keyword.startsWith('min') ? 'at least' : 'at most'} ${limit} ${unit}${limit === 1 ? '' : 's'}`;
}

const ARTICLES: Record<string, string> = {
  object: 'a JSON object',
  string: 'a string',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
};

function withArticle(type: string): string {
  return ARTICLES[type] ?? type;
}

import { type FieldProblem, ServiceError } from '@gatehouse/kit/errors';
import { Ajv, type ErrorObject } from 'ajv';
import buildSerializer from 'fast-json-stringify';
import type { Static, TObject, TSchema } from 'typebox';

const shared = { allErrors: true, useDefaults: true, allowUnionTypes: true } as const;
/** A body says what its values are: nothing is converted, and what the schema does not name is ignored. */
const bodies = new Ajv({ ...shared, coerceTypes: false });
/** A query has only texts: numbers and booleans are read from them. A repeated parameter is an array. */
const queries = new Ajv({ ...shared, coerceTypes: true });

/**
 * Checks request bodies against a schema. The result throws `invalid`, with a sentence and the list of bad
 * fields, or returns the body typed. Properties that the schema does not name are left alone.
 */
export function bodyValidator<S extends TSchema>(schema: S): (body: unknown) => Static<S> {
  const validate = bodies.compile(schema);
  return (body) => {
    if (!validate(body)) throw invalid(validate.errors ?? []);
    return body as Static<S>;
  };
}

/** The same for the query of a request; numbers and booleans are converted, defaults filled in. */
export function queryValidator<S extends TObject>(schema: S): (query: unknown) => Static<S> {
  const validate = queries.compile(schema);
  return (query) => {
    // A copy without a prototype, as the validator writes into what it checks.
    const copy = Object.assign(Object.create(null), query);
    // The validator would also read "0x10", "1e1" and " 1": it gets something that it refuses.
    for (const [field, { type }] of Object.entries(schema.properties) as [string, { type?: string }][]) {
      if (type === 'integer' && typeof copy[field] === 'string' && !/^-?\d+$/.test(copy[field])) {
        copy[field] = {};
      }
    }
    if (!validate(copy)) throw invalid(validate.errors ?? []);
    // "Infinity" and "1e400" are numbers to the validator, and beyond all its bounds.
    for (const [field, value] of Object.entries(copy)) {
      if (value === Infinity || value === -Infinity) {
        throw invalidFields([{ field, message: 'must be a finite number' }]);
      }
    }
    return copy as Static<S>;
  };
}

/** Compiles the writing of one response shape: what the schema does not name cannot leak. */
export function serializer<S extends TSchema>(schema: S): (value: Static<S>) => string {
  return buildSerializer(schema);
}

/** One request field that is wrong, or several. */
export function invalidFields(problems: readonly FieldProblem[]): ServiceError {
  const message = problems.map(({ field, message }) => `${field} ${message}`).join('; ');
  return new ServiceError('invalid', `${message}.`, { details: problems });
}

/** More than anybody reads; a body can be wrong in a hundred thousand places. */
const MAX_PROBLEMS = 20;

function invalid(errors: readonly ErrorObject[]): ServiceError {
  return invalidFields(errors.slice(0, MAX_PROBLEMS).map(problemOf));
}

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
    case 'enum':
      return { field: path, message: `must be one of ${(params.allowedValues as unknown[]).join(', ')}` };
    case 'minimum':
    case 'maximum':
      return {
        field: path,
        message: `must be ${keyword === 'minimum' ? 'at least' : 'at most'} ${params.limit}`,
      };
    default:
      return { field: path === '' ? 'The body' : path, message: message ?? 'is not valid' };
  }
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

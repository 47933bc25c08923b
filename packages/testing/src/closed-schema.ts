/** A JSON Schema, or a document that contains some. */
export type Json = { [keyword: string]: unknown };

/** Keywords with schemas for the same value, which together name its fields. */
const APPLICATORS = ['allOf', 'anyOf', 'oneOf'] as const;

/**
 * The same schema with every object in it closed: a field that it does not name is an error, unless the schema itself
 * says that there may be others. `resolve` returns the schema that a $ref refers to.
 */
export function closedSchema(schema: Json, resolve: (ref: string) => Json): Json {
  return close(schema, false);

  /** With `open`, further fields are left to the schema that contains this one. */
  function close(given: Json, open: boolean): Json {
    if (open && typeof given.$ref === 'string') return close(resolve(given.$ref), true);
    const says = 'additionalProperties' in given || 'unevaluatedProperties' in given;
    const named = given.properties !== undefined || given.allOf !== undefined;
    const closes = !open && !says && (named || given.type === 'object');
    const result: Json = { ...given };
    for (const [keyword, inner] of Object.entries(given)) {
      if (keyword === 'properties' || keyword === 'patternProperties' || keyword === '$defs') {
        result[keyword] = mapValues(inner as Json, (each) => close(each as Json, false));
      } else if (keyword === 'items' || keyword === 'additionalProperties' || keyword === 'contains') {
        if (isSchema(inner)) result[keyword] = close(inner, false);
      } else if (keyword === 'prefixItems') {
        result[keyword] = (inner as Json[]).map((each) => close(each, false));
      } else if ((APPLICATORS as readonly string[]).includes(keyword)) {
        // Alternatives on their own are each closed; otherwise a value could match several of a oneOf.
        const within = open || closes || keyword === 'allOf';
        result[keyword] = (inner as Json[]).map((each) => close(each, within));
      }
    }
    // Unlike additionalProperties, it takes into account what allOf, anyOf and oneOf beside it name.
    return closes ? { ...result, unevaluatedProperties: false } : result;
  }
}

function mapValues(object: Json, change: (value: unknown) => unknown): Json {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}

function isSchema(value: unknown): value is Json {
  return typeof value === 'object' && value !== null;
}

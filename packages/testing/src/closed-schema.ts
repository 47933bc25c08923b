/** A JSON Schema, or a document that holds some. */
export type Json = { [keyword: string]: unknown };

/** Where a schema holds others for the same value: all of them together say which fields there are. */
const TOGETHER = ['allOf', 'anyOf', 'oneOf'] as const;

/**
 * The same schema with every object in it closed: a field that is not named is an error, where the schema does not
 * say itself that others may be there. `resolve` gives what a $ref stands for.
 */
export function closedSchema(schema: Json, resolve: (ref: string) => Json): Json {
  return close(schema, false);

  /** An open one says nothing of further fields: whoever holds it does. */
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
      } else if ((TOGETHER as readonly string[]).includes(keyword)) {
        // Alternatives that stand alone close themselves; else exactly one of them could not hold.
        const within = open || closes || keyword === 'allOf';
        result[keyword] = (inner as Json[]).map((each) => close(each, within));
      }
    }
    // Unlike additionalProperties, it knows what is named beside it by allOf, anyOf and oneOf.
    return closes ? { ...result, unevaluatedProperties: false } : result;
  }
}

function mapValues(object: Json, change: (value: unknown) => unknown): Json {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}

function isSchema(value: unknown): value is Json {
  return typeof value === 'object' && value !== null;
}

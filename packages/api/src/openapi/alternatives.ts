import type { Shape } from './operation.ts';

/** A JSON Schema in the document. */
export type JsonSchema = { [keyword: string]: unknown };

/** The keywords that are compared. */
type Keywords = {
  anyOf?: Keywords[];
  oneOf?: Keywords[];
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, Keywords>;
  required?: string[];
  additionalProperties?: unknown;
};

/**
 * The schema of a value with one of several shapes: a `oneOf`, in which shapes that the same value can match, such as two
 * lists that may both be empty, are grouped in an `anyOf`. A `written` value (a response) has only the properties of its
 * schema; a value that is `read` (a request body) may have others.
 */
export function alternatives(
  shapes: readonly Shape[],
  side: 'written' | 'read',
  refer: (shape: Shape) => JsonSchema,
): JsonSchema {
  let groups: Shape[][] = [];
  for (const shape of shapes) {
    const { joined = [], apart = [] } = Object.groupBy(groups, (group) =>
      group.some(({ schema }) => canMatchBoth(shape.schema, schema, side)) ? 'joined' : 'apart',
    );
    groups = [...apart, [...joined.flat(), shape]];
  }
  const schemas = groups.map((group) => combine('anyOf', group.map(refer)));
  return combine('oneOf', schemas);
}

function combine(keyword: 'oneOf' | 'anyOf', schemas: readonly JsonSchema[]): JsonSchema {
  const [first = {}, ...others] = schemas;
  return others.length === 0 ? first : { [keyword]: schemas };
}

/** Whether the same value can be valid under both schemas. */
function canMatchBoth(a: Keywords, b: Keywords, side: 'written' | 'read'): boolean {
  return side === 'read' ? overlap(a, b, false) : overlap(a, b, true) || overlap(b, a, true);
}

/**
 * Whether a value with all required properties of both schemas can be valid under both; true if in doubt. With
 * `onlyNamed`, the value has no properties other than those of `a`.
 */
function overlap(a: Keywords, b: Keywords, onlyNamed: boolean): boolean {
  const [waysOfA, waysOfB] = [a.anyOf ?? a.oneOf, b.anyOf ?? b.oneOf];
  if (waysOfA !== undefined) return waysOfA.some((way) => overlap(way, b, onlyNamed));
  if (waysOfB !== undefined) return waysOfB.some((way) => overlap(a, way, onlyNamed));
  if (disjoint(typesOf(a), typesOf(b)) || disjoint(valuesOf(a), valuesOf(b))) return false;
  const { properties: ofA, required: byA = [] } = a;
  const { properties: ofB, required: byB = [] } = b;
  if (ofA === undefined || ofB === undefined) return true;
  return [...byA, ...byB].every((name) => {
    const [inA, inB] = [ofA[name], ofB[name]];
    if (inA === undefined) return !onlyNamed && a.additionalProperties !== false;
    if (inB === undefined) return b.additionalProperties !== false;
    return overlap(inA, inB, onlyNamed);
  });
}

const typesOf = ({ type = [] }: Keywords) =>
  // An integer is a number, too.
  [type].flat().map((name) => (name === 'integer' ? 'number' : name));

const valuesOf = ({ enum: values, const: value }: Keywords) => values ?? (value === undefined ? [] : [value]);

/** Whether both are non-empty and have no element in common. */
const disjoint = (a: readonly unknown[], b: readonly unknown[]) =>
  a.length > 0 && b.length > 0 && !a.some((value) => b.includes(value));

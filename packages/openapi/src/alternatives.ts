import type { Shape } from './operation.ts';

/** A JSON Schema as it stands in the document. */
export type JsonSchema = { [keyword: string]: unknown };

/** The keywords by which two schemas are compared. */
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
 * The schema of a value that has one of several shapes. It is the `oneOf` of them, except that shapes which a value
 * could have at once, such as two lists that may both be empty, are put together in an `anyOf`. What is `written` (an
 * answer) has only the properties that its schema names; what is `read` (the body of a request) may have others.
 */
export function alternatives(
  shapes: readonly Shape[],
  side: 'written' | 'read',
  refer: (shape: Shape) => JsonSchema,
): JsonSchema {
  let groups: Shape[][] = [];
  for (const shape of shapes) {
    const { joined = [], apart = [] } = Object.groupBy(groups, (group) =>
      group.some(({ schema }) => canBeBoth(shape.schema, schema, side)) ? 'joined' : 'apart',
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

/** Whether a value can be valid under both schemas. */
function canBeBoth(a: Keywords, b: Keywords, side: 'written' | 'read'): boolean {
  return side === 'read' ? overlap(a, b, false) : overlap(a, b, true) || overlap(b, a, true);
}

/**
 * Whether a value with all properties that either schema requires can be valid under both; if in doubt, yes. With
 * `onlyNamed` it has no other properties than those that `a` names.
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

/** Whether both are named, and have nothing in common. */
const disjoint = (a: readonly unknown[], b: readonly unknown[]) =>
  a.length > 0 && b.length > 0 && !a.some((value) => b.includes(value));

import type { Shape } from './operation.ts';

/** A JSON Schema as it stands in the document. */
export type JsonSchema = { [keyword: string]: unknown };

/**
 * Where several shapes are possible: exactly one of them, unless some cannot be told apart by a value, such as two
 * lists that are empty. Those stand together as any of them. What is `written` has nothing but what its schema names;
 * what is `read` may have more.
 */
export function alternatives(
  shapes: readonly Shape[],
  side: 'written' | 'read',
  refer: (shape: Shape) => JsonSchema,
): JsonSchema {
  const canBeBoth = side === 'written' ? canBeWritten : overlap;
  const groups: Shape[][] = [];
  for (const shape of shapes) {
    const alike = groups.filter((group) =>
      group.some((other) => canBeBoth(shape.schema as JsonSchema, other.schema as JsonSchema)),
    );
    // It may join groups that were apart.
    for (const group of alike) groups.splice(groups.indexOf(group), 1);
    groups.push([...alike.flat(), shape]);
  }
  const written = groups.map((group) => {
    const refs = group.map(refer);
    return refs.length === 1 ? refs[0] : { anyOf: refs };
  });
  return written.length === 1 ? (written[0] as JsonSchema) : { oneOf: written };
}

/** Whether a value that is written by one schema can hold by the other as well. */
function canBeWritten(a: JsonSchema, b: JsonSchema): boolean {
  return fits(a, b) || fits(b, a);
}

/** Whether a value can hold by both, with whatever both of them need. In doubt it can. */
function overlap(a: JsonSchema, b: JsonSchema): boolean {
  const ways = waysOf(a);
  if (ways !== undefined) return ways.some((way) => overlap(way, b));
  if (waysOf(b) !== undefined) return overlap(b, a);
  if (!shareType(a, b) || !shareValue(a, b)) return false;
  const [ours, theirs] = [propertiesOf(a), propertiesOf(b)];
  if (ours === undefined || theirs === undefined) return true;
  return [...requiredOf(a), ...requiredOf(b)].every((name) => {
    const [own, other] = [ours[name], theirs[name]];
    if (own === undefined) return a.additionalProperties !== false;
    return other === undefined ? b.additionalProperties !== false : overlap(own, other);
  });
}

/** Whether a value with nothing but what `written` names can hold by `read`. In doubt it can. */
function fits(written: JsonSchema, read: JsonSchema): boolean {
  const ways = waysOf(written);
  if (ways !== undefined) return ways.some((way) => fits(way, read));
  const readings = waysOf(read);
  if (readings !== undefined) return readings.some((reading) => fits(written, reading));
  if (!shareType(written, read) || !shareValue(written, read)) return false;
  const ours = propertiesOf(written);
  const theirs = propertiesOf(read);
  if (ours === undefined || theirs === undefined) return true;
  const needed = [...requiredOf(read), ...requiredOf(written).filter((name) => theirs[name] !== undefined)];
  return needed.every((name) => {
    const own = ours[name];
    return own !== undefined && fits(own, theirs[name] ?? {});
  });
}

function waysOf(schema: JsonSchema): JsonSchema[] | undefined {
  return (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined;
}

function propertiesOf(schema: JsonSchema): Record<string, JsonSchema> | undefined {
  return schema.properties as Record<string, JsonSchema> | undefined;
}

function requiredOf(schema: JsonSchema): string[] {
  return (schema.required ?? []) as string[];
}

function shareType(a: JsonSchema, b: JsonSchema): boolean {
  // A whole number is a number, too.
  const typesOf = ({ type }: JsonSchema) =>
    [type].flat().map((name) => (name === 'integer' ? 'number' : name));
  return a.type === undefined || b.type === undefined || typesOf(a).some((name) => typesOf(b).includes(name));
}

function shareValue(a: JsonSchema, b: JsonSchema): boolean {
  const valuesOf = ({ enum: values, const: value }: JsonSchema) =>
    (values as unknown[] | undefined) ?? (value === undefined ? undefined : [value]);
  const [ours, theirs] = [valuesOf(a), valuesOf(b)];
  return ours === undefined || theirs === undefined || ours.some((value) => theirs.includes(value));
}

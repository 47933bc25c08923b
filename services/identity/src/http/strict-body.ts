import { bodyValidator, invalidFields } from '@gatehouse/api/http/schema';
import type { Static, TObject } from 'typebox';

/** Like bodyValidator, but refuses unknown fields: a misspelt one must not be ignored here. */
export function strictBodyValidator<S extends TObject>(schema: S): (body: unknown) => Static<S> {
  const validate = bodyValidator(schema);
  return (body: unknown) => {
    const unknown = Object.keys(Object(body)).filter((name) => !Object.hasOwn(schema.properties, name));
    if (unknown.length > 0 && !Array.isArray(body)) {
      throw invalidFields(
        unknown
          .slice(0, 20)
          .map((field) => ({ field: field.slice(0, 100), message: 'is not a known field' })),
      );
    }
    return validate(body);
  };
}

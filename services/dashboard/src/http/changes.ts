import { createHash } from 'node:crypto';
import { ApiError } from '../api/api-error.ts';
import type { Fields } from './forms.ts';

/** Fields as the API names them. */
type Values = Readonly<Record<string, unknown>>;

/** A form that the API did not accept, for it to be shown again. */
export type RefusedForm = { fields: Fields; error: ApiError };

/** The hidden field by which a form tells what it was filled with. */
const SHOWN = 'shown';

/** A hash of a value, whose text may be of any length; browsers send line breaks as CR LF. */
function digest(value: unknown): string {
  const plain = typeof value === 'string' ? value.replaceAll('\r\n', '\n').trim() : value;
  return createHash('sha256')
    .update(JSON.stringify(plain) ?? '')
    .digest('base64url')
    .slice(0, 16);
}

const digests = (values: Values) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, digest(value)]));

function shownBy(fields: Fields): Record<string, string> {
  try {
    return Object(JSON.parse(fields.text(SHOWN) || '{}')) as Record<string, string>;
  } catch {
    throw new ApiError(400, 'The form was altered before it was submitted.');
  }
}

/**
 * The hidden field of a form that is filled with these values. A `refused` form is shown again with the values that were
 * sent: it still counts as filled with its first values, except for the fields whose error message has now shown the person
 * a change by somebody else.
 */
export function shownFields(values: Values, refused?: Partial<RefusedForm>): { [SHOWN]: string } {
  if (refused?.fields === undefined) return { [SHOWN]: JSON.stringify(digests(values)) };
  const first = shownBy(refused.fields);
  const conflicting = (refused.error?.details ?? []).filter(({ field }) => Object.hasOwn(first, field));
  const now = Object.fromEntries(conflicting.map(({ field }) => [field, digest(values[field])]));
  return { [SHOWN]: JSON.stringify({ ...first, ...now }) };
}

/**
 * The values that the person has changed, so that a form overwrites nothing that it did not show.
 * Throws ApiError (409) for a field that somebody else has changed meanwhile, to something else.
 */
export function changes<T extends Values>(fields: Fields, sent: T, current: Values): Partial<T> {
  const first: Values = { ...digests(current), ...shownBy(fields) };
  const changed = Object.entries(sent).filter(([name, value]) => digest(value) !== first[name]);
  const taken = changed.filter(([name, value]) => {
    const now = digest(current[name]);
    return now !== first[name] && now !== digest(value);
  });
  if (taken.length > 0) {
    throw new ApiError(409, 'Somebody else changed the same data in the meantime.', {
      details: taken.map(([field]) => ({
        field,
        message:
          'was changed by somebody else in the meantime. Submit the form again to overwrite that change',
      })),
    });
  }
  return Object.fromEntries(changed) as Partial<T>;
}

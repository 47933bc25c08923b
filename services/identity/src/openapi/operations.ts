import type { ErrorBody } from '@gatehouse/api/http/error-bodies';
import type { Operation } from '@gatehouse/api/openapi/operation';
import type { ErrorKind } from '@gatehouse/core/errors';
import { Type } from 'typebox';

/** Operations by method and path, such as `GET /api/v1/sessions/:id`. */
export type Operations = Readonly<Record<string, Operation>>;

/** The schema of `{error, error_description}` (RFC 6749 §5.2), under a name. */
export function oauthErrorBody(title: string, codes: Partial<Record<ErrorKind, string>>): ErrorBody {
  return {
    write: ({ kind, message }) => ({ error: codes[kind] ?? 'invalid_request', error_description: message }),
    schema: Type.Object(
      { error: Type.String({ description: 'A code.' }), error_description: Type.String() },
      { title, additionalProperties: false },
    ),
  };
}

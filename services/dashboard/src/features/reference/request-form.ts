import type { FieldProblem } from '@gatehouse/core/errors';
import { type ProbeRequest, queryText } from '../../api/api.ts';
import { ApiError } from '../../api/api-error.ts';
import type { OpenApiDocument, Parameter } from '../../docs/openapi/document.ts';
import type { Located } from '../../docs/reference/operation-view.ts';
import { exampleBody, FORM_TYPE, usesClientAuthentication } from '../../docs/reference/samples.ts';
import {
  type FormRow,
  type FormValues,
  fieldsOf,
  type ResourceField,
} from '../../resources/resource-form.ts';
import type { Visit } from '../../routes/visit.ts';

/** The names of fields that are no parameters. */
const BODY = 'body';
const TOKEN = 'token_secret';
const CONFIRMED = 'confirmed';
const nameOf = ({ in: place, name }: Parameter) => `${place}.${name}`;
const isNeeded = ({ in: place, required }: Parameter) => place === 'path' || required === true;

/** The fields of a request: its credential, the parameters and the body, which begins as the example of the reference. */
export function requestRows(document: OpenApiDocument, { method, operation }: Located): FormRow[] {
  const { requestBody, security = [] } = operation;
  const parameters = operation.parameters?.filter(({ deprecated }) => deprecated !== true) ?? [];
  const optional = parameters.filter((it) => !isNeeded(it)).map(parameterField);
  return [
    ...credentialRows(security),
    ...parameters.filter(isNeeded).map(parameterField),
    ...(optional.length > 0
      ? [{ fields: optional, folded: `Optional parameters (${optional.length})` }]
      : []),
    ...(requestBody === undefined
      ? []
      : [
          bodyField(
            exampleBody(document, requestBody.content, usesClientAuthentication(security)),
            requestBody.required,
          ),
        ]),
    ...(method === 'delete'
      ? [{ name: CONFIRMED, label: 'Delete it. This cannot be undone.', kind: 'flag' as const }]
      : []),
  ];
}

function credentialRows(security: readonly Record<string, string[]>[]): FormRow[] {
  if (usesClientAuthentication(security)) {
    return [
      [
        { name: 'client_id', label: 'Client ID' },
        { name: 'client_secret', label: 'Client secret', type: 'password', hint: 'It is not stored.' },
      ],
    ];
  }
  const otherwise = isPublic(security) ? 'without a credential' : 'as you';
  const hint = `Leave this empty to send the request ${otherwise}. It is not stored.`;
  return [{ name: TOKEN, label: 'Access token or API key', type: 'password', hint }];
}

const isPublic = (security: readonly Record<string, string[]>[]) => security.length === 0;

function parameterField(it: Parameter): ResourceField {
  const { name, schema = {}, description } = it;
  const initial = isNeeded(it) && schema.default !== undefined ? String(schema.default) : '';
  const values = schema.enum?.map(String);
  return {
    name: nameOf(it),
    label: name,
    required: isNeeded(it),
    initial,
    ...(description !== undefined && { hint: description.replaceAll('`', '') }),
    ...(values !== undefined && { options: [['', 'Not given'], ...values] }),
  };
}

function bodyField({ type, body }: ReturnType<typeof exampleBody>, required = false): ResourceField {
  const lines = Object.entries(body).map(([name, value]) => `${name}=${value}`);
  const initial = type === FORM_TYPE ? lines.join('\n') : JSON.stringify(body, null, 2);
  const hint = type === FORM_TYPE ? `${type}: one name=value on each line` : type;
  return {
    name: BODY,
    label: 'Body',
    required,
    hint,
    rows: Math.min(16, initial.split('\n').length + 1),
    initial,
  };
}

/** The values of parameters that are in the query of the page: a link can say what to send, without a credential or a body. */
export function linkedValues(rows: readonly FormRow[], visit: Pick<Visit, 'query'>): FormValues {
  const names = fieldsOf(rows).flatMap(({ name }) => (/^(?:path|query)\./.test(name) ? [name] : []));
  const linked = names.map((name) => [name, visit.query(name)] as const);
  return Object.fromEntries(linked.filter(([, value]) => value !== ''));
}

/** The error of a form that no request can be made of. */
export function problemsOf(
  document: OpenApiDocument,
  located: Located,
  values: FormValues,
): ApiError | undefined {
  const problems = fieldsOf(requestRows(document, located)).flatMap(({ name, required }): FieldProblem[] => {
    const value = values[name] ?? '';
    if (required && value === '') return [{ field: name, message: 'is required' }];
    // Another path, or another header.
    if (/^path\./.test(name) && /^\.\.?$/.test(value)) return [{ field: name, message: 'must not be a dot' }];
    if (/^header\.|^token/.test(name) && !/^[ -~]*$/.test(value)) {
      return [{ field: name, message: 'must consist of printable ASCII characters' }];
    }
    if (name === CONFIRMED && value === '') return [{ field: name, message: 'Confirm the deletion.' }];
    return [];
  });
  return problems.length === 0 ? undefined : new ApiError(400, 'Correct the request.', { details: problems });
}

/** The request of the values of the form. Where it can have an Idempotency-Key, it has that of the form, or the one entered. */
export function requestOf(
  document: OpenApiDocument,
  { method, path, operation }: Located,
  values: FormValues,
  idempotencyKey: string,
): ProbeRequest {
  const { parameters = [], requestBody, security = [] } = operation;
  const given = (place: string): Record<string, string> =>
    Object.fromEntries(
      parameters.flatMap((it) => {
        const value = values[nameOf(it)] ?? '';
        return it.in === place && value !== '' ? [[it.name, value]] : [];
      }),
    );
  const inPath = given('path');
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(inPath[name] ?? ''));
  const request = { method: method.toUpperCase(), path: `${address}${queryText(given('query'))}` };
  const text = values[BODY] ?? '';
  const takesKey = parameters.some(({ in: place, name }) => place === 'header' && name === 'Idempotency-Key');
  const headers = { ...(takesKey && { 'Idempotency-Key': idempotencyKey }), ...given('header') };
  if (requestBody === undefined || text === '') return { ...request, headers };
  const { type } = exampleBody(document, requestBody.content, usesClientAuthentication(security));
  return {
    ...request,
    headers: { 'content-type': type, ...headers },
    body: type === FORM_TYPE ? formOf(text) : text,
  };
}

function formOf(text: string): string {
  const pairs = text.split(/\r?\n/).flatMap((line): [string, string][] => {
    const at = line.indexOf('=');
    return at < 1 ? [] : [[line.slice(0, at).trim(), line.slice(at + 1)]];
  });
  return new URLSearchParams(pairs).toString();
}

/** The value of the Authorization header: null for none, and undefined for the token of the person. */
export function authorizationOf({ operation }: Located, values: FormValues): string | null | undefined {
  const { security = [] } = operation;
  if (usesClientAuthentication(security)) {
    const { client_id: id = '', client_secret: secret = '' } = values;
    // RFC 6749 §2.3.1: each is form-encoded first.
    const basic = [id, secret].map(encodeURIComponent).join(':');
    return id === '' ? null : `Basic ${Buffer.from(basic).toString('base64')}`;
  }
  const token = values[TOKEN]?.trim() ?? '';
  if (token !== '') return `Bearer ${token}`;
  return isPublic(security) ? null : undefined;
}

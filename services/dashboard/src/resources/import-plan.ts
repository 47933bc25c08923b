import { createHash } from 'node:crypto';
import type { FieldProblem } from '@gatehouse/core/errors';
import { emailKey, foldedKey } from '@gatehouse/domain/folded-key';
import type { Api } from '../api/api.ts';
import { ApiError } from '../api/api-error.ts';
import { rowsWith } from '../api/rows-with.ts';
import type { ImportAction, ImportRow } from '../imports/import.ts';
import type { ImportKind } from '../imports/import-batches.ts';
import { fieldSentences } from '../pages/fields.ts';
import type { Imported } from './resource.ts';
import { currentValues, fieldsOf, type ResourceField, requestBody } from './resource-form.ts';

type Entity = { id: string };

const ID: ResourceField = {
  name: 'id',
  label: 'ID',
  hint: 'The ID of the existing object that the row changes',
};
/** The columns that the file of the refused rows has in addition. An import passes them over. */
export const REFUSED_COLUMNS = ['line', 'error'] as const;
const CHANGED = 'It was changed after the file was checked. Check the file again.';
/** So many of the rows that change something are shown with their values, of so many characters. */
export const FIRST_ROWS = 10;
const MAX_SHOWN = 60;

/** The fields that a file may have; those with an id change an object. */
export function importFields<T>({ fields, changes }: Imported<T>): readonly ResourceField[] {
  return changes ? [ID, ...fieldsOf(fields)] : fieldsOf(fields);
}

/** How the rows of a file become objects of the API. `list` is the path at which they are created and changed. */
export function importKind<T extends Entity>(it: Imported<T>, list: string): ImportKind {
  return {
    role: it.role,
    check: (columns) => createCheck(it, columns),
    async prepare(columns, api, rows) {
      const found = await currentOf(api, it, rows);
      const fields = givenFields(it, columns);
      return async (row, rowApi, secret) => {
        const current = found.get(row.cells.id ?? '');
        const { body, problems } = draftOf(it, fields, row, current);
        if (problems.length > 0) throw new ApiError(412, CHANGED, { details: problems });
        if (row.cells.id)
          return change(it, row, { api: rowApi, body, path: `${list}/${encodeURIComponent(row.cells.id)}` });
        await (it.create?.(rowApi, body, secret) ?? rowApi.send('POST', list, body));
        return 'create';
      };
    },
    explain: ({ details, message, status }) =>
      details.length > 0 ? sentences(it, details) : [status === 412 ? CHANGED : message],
  };
}

/** Changes an object, unless it has the values already: an attempt before may have changed it. */
async function change<T extends Entity>(
  it: Imported<T>,
  row: ImportRow,
  { api, body, path }: { api: Api; body: Record<string, unknown>; path: string },
): Promise<ImportAction> {
  const { action = 'unchanged', fingerprint } = row;
  if (Object.keys(body).length === 0) return action;
  const { value, etag } = await api.read<T>(path);
  if (fingerprintOf(it, value) !== fingerprint) throw new ApiError(412, CHANGED);
  await api.send('PUT', path, body, etag);
  return action;
}

/**
 * Compares the rows of a file with what is there, and with the rows before them. Another object that has what has to be unique is a
 * problem.
 */
function createCheck<T extends Entity>(
  it: Imported<T>,
  columns: readonly string[],
): ReturnType<ImportKind['check']> {
  const fields = givenFields(it, columns);
  const unique = ['id', ...it.unique];
  /** By field, the lines on which values were seen first. */
  const seen = new Map(unique.map((field) => [field, new Map<string, number>()]));
  let shown = 0;

  return async (api, rows) => {
    const found = await currentOf(api, it, rows);
    const drafts = rows.map((row) => draftOf(it, fields, row, found.get(row.cells.id ?? '')));
    const others = await Promise.all(
      it.unique.map((field) =>
        rowsWith<T>(
          api,
          it.list,
          field,
          drafts.flatMap((draft) => uniqueText(draft, field) ?? []),
        ),
      ),
    );
    // Nothing is remembered of rows before all requests have succeeded.
    for (const [i, field] of unique.entries()) {
      addConflicts(drafts, field, { others: others[i - 1] ?? [], lines: seen.get(field) ?? new Map() });
    }
    return drafts.map(({ row, current, body, problems }): ImportRow => {
      const own = row.problems ?? sentences(it, problems);
      const common = { ...row, title: titleOf(it, row, current), fingerprint: fingerprintOf(it, current) };
      if (own.length > 0) return { ...common, action: 'error', problems: own };
      if (Object.keys(body).length === 0) return { ...common, action: 'unchanged' };
      shown += 1;
      const values = shown <= FIRST_ROWS && { values: valuesOf(it, body, current) };
      return { ...common, action: current === undefined ? 'create' : 'change', ...values };
    });
  };
}

/** The objects that rows change, by their ids. */
async function currentOf<T extends Entity>(api: Api, it: Imported<T>, rows: readonly ImportRow[]) {
  const found = await rowsWith<T>(
    api,
    it.list,
    'id',
    rows.map(({ cells }) => cells.id ?? ''),
  );
  return new Map(found.map((row) => [row.id, row]));
}

const givenFields = <T>({ fields }: Imported<T>, columns: readonly string[]) =>
  fieldsOf(fields).filter(({ name }) => columns.includes(name));

/** Tells whether what a row is compared with has changed; empty for a new object. */
function fingerprintOf<T extends Entity>({ fields }: Imported<T>, current: T | undefined): string {
  if (current === undefined) return '';
  const values = currentValues(fields, current);
  return createHash('sha256').update(JSON.stringify(values)).digest('base64url').slice(0, 16);
}

/** The fields that a row sets, with the values before. */
function valuesOf<T>(it: Imported<T>, body: Record<string, unknown>, current: T | undefined) {
  const labels = new Map(fieldsOf(it.fields).map(({ name, label }) => [name, label]));
  const text = (value: unknown) =>
    value === null || value === undefined ? 'none' : shortened(String(value));
  return Object.entries(body).flatMap(([name, value]) => {
    const before = current?.[name as keyof T];
    if (before === value) return [];
    const shown = [labels.get(name) ?? name, text(value)] as const;
    return [current === undefined ? shown : ([...shown, text(before)] as const)];
  });
}

/** The first characters of a text. */
export function shortened(text: string): string {
  const characters = [...text];
  return characters.length <= MAX_SHOWN ? text : `${characters.slice(0, MAX_SHOWN - 1).join('')}…`;
}

type Draft<T> = {
  row: ImportRow;
  current: T | undefined;
  body: Record<string, unknown>;
  problems: FieldProblem[];
};

/** A row by itself: the fields to send, and what is wrong with them. */
function draftOf<T extends Entity>(
  it: Imported<T>,
  fields: readonly ResourceField[],
  row: ImportRow,
  current: T | undefined,
): Draft<T> {
  const { id = '' } = row.cells;
  if (id !== '' && current === undefined) {
    return { row, current, body: {}, problems: [{ field: 'id', message: 'does not exist' }] };
  }
  const values = Object.fromEntries(fields.map(({ name }) => [name, row.cells[name] ?? '']));
  const given = fields.filter(({ name }) => current !== undefined || values[name] !== '');
  const needed = current ? given.filter(({ required }) => required).map(({ name }) => name) : it.required;
  const empty = needed.filter((name) => (values[name] ?? '').trim() === '');
  const all = requestBody(given, values);
  const before = current === undefined ? {} : requestBody(given, currentValues(given, current));
  const body = Object.fromEntries(Object.entries(all).filter(([name, value]) => before[name] !== value));
  for (const name of it.together?.some((name) => name in body) ? it.together : []) {
    if (name in all) body[name] = all[name];
  }
  const wrong = given.flatMap((field) => {
    const { name } = field;
    const message = name in body && !empty.includes(name) ? problemOf(field, body[name]) : undefined;
    return message === undefined ? [] : [{ field: name, message }];
  });
  const problems = [...empty.map((field) => ({ field, message: 'is required' })), ...wrong];
  const isComplete = problems.length === 0 && Object.keys(body).length > 0;
  return { row, current, body, problems: isComplete ? [...it.problems(body, current)] : problems };
}

const uniqueText = <T>({ row, body }: Draft<T>, field: string) => {
  const value = field === 'id' ? row.cells.id : body[field];
  return typeof value === 'string' && value !== '' ? value : undefined;
};

/** Adds that a row has a value that another row, or another object, has already. */
function addConflicts<T extends Entity>(
  drafts: readonly Draft<T>[],
  field: string,
  { others, lines }: { others: readonly T[]; lines: Map<string, number> },
): void {
  const keyOf = field === 'email' ? emailKey : foldedKey;
  const owners = new Map(others.map((other) => [keyOf(String(other[field as keyof T])), other.id]));
  for (const draft of drafts) {
    const text = uniqueText(draft, field);
    if (text === undefined) continue;
    const key = keyOf(text);
    const owner = owners.get(key);
    const line = lines.get(key);
    if (owner !== undefined && owner !== draft.current?.id) {
      draft.problems.push({ field, message: 'is already in use' });
    } else if (line !== undefined) {
      draft.problems.push({ field, message: `is the same as on line ${line}` });
    } else lines.set(key, draft.row.line);
  }
}

/** The problems of fields, in sentences. */
function sentences<T>(it: Imported<T>, problems: readonly FieldProblem[]): readonly string[] {
  return fieldSentences(problems, importFields(it)).map(({ message }) => message);
}

function titleOf<T>({ required }: Imported<T>, { cells }: ImportRow, current: T | undefined): string {
  const [name = ''] = required;
  return cells[name] || String(current?.[name as keyof T] ?? '');
}

/** The problem of a value, as far as its form knows; the API knows the rest. */
function problemOf({ kind, options, maxlength }: ResourceField, value: unknown): string | undefined {
  if (value === null) return undefined;
  if (kind === 'integer' && !Number.isInteger(value)) return 'must be a whole number';
  if (kind === 'decimal' && typeof value !== 'number') return 'must be a number, such as 12.50';
  const values = options?.map((option) => (typeof option === 'string' ? option : option[0]));
  if (values?.includes(String(value)) === false) return `must be one of ${values.join(', ')}`;
  if (maxlength !== undefined && [...String(value)].length > maxlength) {
    return `must have at most ${maxlength} characters`;
  }
  return undefined;
}

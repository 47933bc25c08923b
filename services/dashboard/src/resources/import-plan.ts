import { createHash } from 'node:crypto';
import type { FieldProblem } from '@gatehouse/core/errors';
import { foldedKey } from '@gatehouse/domain/folded-key';
import type { Api } from '../api/api.ts';
import { ApiError } from '../api/api-error.ts';
import { rowsWith } from '../api/rows-with.ts';
import { type CsvRow, readCsv } from '../http/csv-file.ts';
import { fieldSentences } from '../pages/fields.ts';
import type { Imported } from './resource.ts';
import { currentValues, fieldsOf, type ResourceField, requestBody } from './resource-form.ts';

type Entity = { id: string };

/** What a row of a file asks for. */
export type PlannedRow<T> = {
  line: number;
  /** The name of the object. */
  title: string;
  /** What it is now; undefined of a new one. */
  current: T | undefined;
  /** The fields of a new one, or those that differ. */
  body: Record<string, unknown>;
  /** Sentences that say why it cannot be imported. */
  problems: readonly string[];
};

const ID: ResourceField = {
  name: 'id',
  label: 'ID',
  hint: 'The ID of the existing object that the row changes',
};

/** Tells whether what a row is compared with has changed; empty for a new object. */
export function fingerprintOf<T extends Entity>({ fields }: Imported<T>, current: T | undefined): string {
  if (current === undefined) return '';
  const values = currentValues(fields, current);
  return createHash('sha256').update(JSON.stringify(values)).digest('base64url').slice(0, 16);
}

/** What an import does with a row. */
export function actionOf<T>({ problems, current, body }: PlannedRow<T>) {
  if (problems.length > 0) return 'error';
  if (current === undefined) return 'create';
  return Object.keys(body).length > 0 ? 'change' : 'unchanged';
}

/** The fields that a file may have; those with an id change an object. */
export function importFields<T>({ fields, changes }: Imported<T>): readonly ResourceField[] {
  return changes ? [ID, ...fieldsOf(fields)] : fieldsOf(fields);
}

/**
 * Reads a file and compares it with what is there; nothing is written. With `checksTaken`, it is asked whether another object has
 * what has to be unique: when an import is sent again, that is the object that it has created. Throws ApiError for a file that
 * cannot be read as a whole.
 */
export async function planImport<T extends Entity>(
  api: Api,
  it: Imported<T>,
  content: Buffer,
  checksTaken: boolean,
): Promise<readonly PlannedRow<T>[]> {
  const { required, unique, list, readOnly = [] } = it;
  const all = importFields(it);
  const known = [...all.map(({ name }) => name), ...readOnly];
  const { columns, rows, hasDecimalCommas } = readCsv(content, { known, maxRows: it.maxRows });
  const missing = columns.includes('id') ? [] : required.filter((name) => !columns.includes(name));
  if (missing.length > 0) throw new ApiError(400, `The file lacks these columns: ${missing.join(', ')}.`);
  const fields = fieldsOf(it.fields).filter(({ name }) => columns.includes(name));
  const ids = rows.map(({ cells }) => cells.id ?? '');
  const found = new Map((await rowsWith<T>(api, list, 'id', ids)).map((row) => [row.id, row]));

  const drafts = rows.map((row) =>
    draftOf(it, fields, { row, current: found.get(row.cells.id ?? ''), hasDecimalCommas }),
  );
  for (const field of ['id', ...unique]) {
    const texts = drafts.flatMap((draft) => uniqueText(draft, field) ?? []);
    const others = checksTaken && field !== 'id' ? await rowsWith<T>(api, list, field, texts) : [];
    addConflicts(drafts, field, others);
  }
  return drafts.map(({ row, current, body, problems }) => ({
    line: row.line,
    title: titleOf(it, row, current),
    current,
    body,
    problems: row.problem === undefined ? sentences(it, problems) : [row.problem],
  }));
}

type Draft<T> = {
  row: CsvRow;
  current: T | undefined;
  body: Record<string, unknown>;
  problems: FieldProblem[];
};

/** A row by itself: the fields to send, and what is wrong with them. */
function draftOf<T extends Entity>(
  it: Imported<T>,
  fields: readonly ResourceField[],
  { row, current, hasDecimalCommas }: { row: CsvRow; current: T | undefined; hasDecimalCommas: boolean },
): Draft<T> {
  const { id = '' } = row.cells;
  if (id !== '' && current === undefined) {
    return { row, current, body: {}, problems: [{ field: 'id', message: 'does not exist' }] };
  }
  const values = Object.fromEntries(
    fields.map(({ name, kind }) => {
      const text = row.cells[name] ?? '';
      return [name, kind === 'decimal' && hasDecimalCommas ? text.replace(',', '.') : text];
    }),
  );
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
  others: readonly T[],
): void {
  const owners = new Map(others.map((other) => [foldedKey(String(other[field as keyof T])), other.id]));
  const lines = new Map<string, number>();
  for (const draft of drafts) {
    const text = uniqueText(draft, field);
    if (text === undefined) continue;
    const key = foldedKey(text);
    const owner = owners.get(key);
    const line = lines.get(key);
    if (owner !== undefined && owner !== draft.current?.id) {
      draft.problems.push({ field, message: 'is already in use' });
    } else if (line !== undefined) {
      draft.problems.push({ field, message: `is the same as on line ${line}` });
    } else lines.set(key, draft.row.line);
  }
}

/** What is wrong with fields, in sentences. */
export function sentences<T>(it: Imported<T>, problems: readonly FieldProblem[]): readonly string[] {
  return fieldSentences(problems, importFields(it)).map(({ message }) => message);
}

function titleOf<T>({ required }: Imported<T>, { cells }: CsvRow, current: T | undefined): string {
  const [name = ''] = required;
  return cells[name] || String(current?.[name as keyof T] ?? '');
}

/** What is wrong with a value, as far as its form knows; the API knows the rest. */
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

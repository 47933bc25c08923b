import { ApiError } from '../api/api-error.ts';
import { concurrently } from '../api/concurrently.ts';
import { patiently } from '../api/patiently.ts';
import type { Fields } from '../http/forms.ts';
import { errorOf } from '../pages/fields.ts';
import { capital } from '../pages/parts.ts';
import type { View } from '../pages/view.ts';
import type { DashboardRouter, Visit } from '../routes/dashboard-router.ts';
import { hasRole } from '../sessions/session.ts';
import { checkBody, importBody, MAX_FILE_BYTES, type Outcome, resultBody } from './import-pages.ts';
import { actionOf, fingerprintOf, type PlannedRow, planImport, sentences } from './import-plan.ts';
import type { Imported, Resource } from './resource.ts';

type Entity = { id: string };

/** What the edge lets through (deploy/docker/Caddyfile). */
const FORM = { maxBytes: 999_999, tooLarge: `The file is larger than ${MAX_FILE_BYTES / 1024} KiB.` };
/** The edge waits a minute for a response. */
const MAX_MS = 50_000;
const CHANGED = 'It was changed after the file was checked. Check the file again.';
const TOO_LATE = `The import took longer than ${MAX_MS / 1000} seconds, and ended before this row.`;

/**
 * The pages that import a file of CSV: a form, a check that writes nothing, and the import itself. The checked file comes back in
 * the form that confirms it, so that nothing is kept between.
 */
export function addImport<T extends Entity>(resource: Resource<T>, { get, post }: DashboardRouter): void {
  const { name, noun, imported: it } = resource;
  if (it === undefined) return;
  const title = `Import ${noun[1]}`;
  const trail = [{ href: `/dashboard/${name}`, title: capital(noun[1]) }];
  const page = (body: View['body'], failed = false): View => ({ title, section: name, trail, body, failed });

  /** Throws ApiError, since without a request to the API nothing else refuses the page. */
  function requireRole({ person }: Visit): void {
    if (!hasRole(person, it?.role)) throw new ApiError(403, `You are not permitted to import ${noun[1]}.`);
  }

  get(`/${name}/import`, (visit) => {
    requireRole(visit);
    return page(importBody(resource, it, visit));
  });

  post(
    `/${name}/import`,
    async (visit, fields) => {
      requireRole(visit);
      try {
        const content = checkedSize(fields.file('file'));
        const rows = await planImport(visit.api, it, content, true);
        return page(checkBody(resource, it, visit, { rows, content: content.toString('base64url') }));
      } catch (error) {
        return page(importBody(resource, it, visit, errorOf(error)), true);
      }
    },
    { ...FORM, files: true },
  );

  post(
    `/${name}/import/run`,
    async (visit, fields) => {
      requireRole(visit);
      const content = fields.required('content');
      const checked = fields.text('checked');
      const began = Date.now();
      try {
        const rows = await planImport(visit.api, it, Buffer.from(content, 'base64url'), false);
        const fingerprints = new Map(checked.split(',').map((text, i) => [rows[i]?.line, text]));
        const outcomes = await concurrently(rows, (row) => {
          const as = { visit, fields, deadline: began + MAX_MS, fingerprint: fingerprints.get(row.line) };
          return write(resource, it, row, as);
        });
        return page(resultBody(resource, it, visit, { outcomes, hidden: { content, checked } }));
      } catch (error) {
        return page(importBody(resource, it, visit, errorOf(error)), true);
      }
    },
    FORM,
  );
}

function checkedSize(content: Buffer | undefined): Buffer {
  if (content === undefined || content.length === 0) throw new ApiError(400, 'Choose a file with CSV in it.');
  if (content.length > MAX_FILE_BYTES) throw new ApiError(413, FORM.tooLarge);
  return content;
}

/** Writes a row; what the API refuses is the outcome of this row, and stops no other. */
async function write<T extends Entity>(
  { api: list }: Resource<T>,
  it: Imported<T>,
  row: PlannedRow<T>,
  as: { visit: Visit; fields: Fields; deadline: number; fingerprint: string | undefined },
): Promise<Outcome<T>> {
  const { visit, fields, deadline, fingerprint } = as;
  const action = actionOf(row);
  if (action === 'error' || action === 'unchanged') return { row, action };
  if (Date.now() > deadline) return { row: failed(row, [TOO_LATE]), action: 'error', isTemporary: true };
  const { line, body, current } = row;
  const key = `line-${line}`;
  async function send(): Promise<unknown> {
    // Each attempt has the Idempotency-Key of the row.
    const api = visit.apiFor(key);
    if (current !== undefined) {
      const path = `${list}/${encodeURIComponent(current.id)}`;
      const { value, etag } = await api.read<T>(path);
      if (fingerprintOf(it, value) !== fingerprint) throw new ApiError(412, CHANGED);
      return api.send('PUT', path, body, etag);
    }
    return it.create?.(api, body, fields.secret(key)) ?? api.send('POST', list, body);
  }
  try {
    await patiently(send, deadline);
    return { row, action };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 401 || error.takesSignIn) throw error;
    const { details, message, isUnavailable, status } = error;
    const problems = details.length > 0 ? sentences(it, details) : [status === 412 ? CHANGED : message];
    return { row: failed(row, problems), action: 'error', isTemporary: isUnavailable || status === 429 };
  }
}

const failed = <T>(row: PlannedRow<T>, problems: readonly string[]) => ({ ...row, problems });

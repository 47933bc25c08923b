import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../api-client.ts';
import { CliError } from '../errors.ts';
import { type Deployment, mapConcurrently } from './deployment.ts';
import { ConfigurationError, type Entry, type Problem } from './file.ts';
import { pathOf, type Values } from './kind.ts';
import type { Change } from './plan.ts';
import type { References } from './references.ts';

const LEASE = '/api/v1/configuration/lease';
const RENEW_MS = 10_000;
const RETRY_MS = 1000;

/** Somebody else changes the deployment at the same time. */
export class ConflictError extends CliError {
  constructor(reason: string) {
    super(`conflict: ${reason}`);
  }
}

const isConflict = (error: unknown): error is ApiError => error instanceof ApiError && error.status === 409;

/**
 * Runs work under the lease of the deployment, which one apply at a time has. If the holder of the lease was killed, this waits until the
 * lease has expired, and takes it. Throws a {@link ConflictError} while another apply is running. `requireLease` throws it once the lease is lost.
 */
export async function withLease<T>(
  { request, note }: Deployment,
  work: (requireLease: () => void) => Promise<T>,
): Promise<T> {
  const lease = await takeLease(request, note);
  let until = Date.parse(lease.expires_at) - Date.now() + performance.now();
  const renew = async () => {
    const { body } = await request('PUT', `${LEASE}/${lease.id}`);
    until = Date.parse(body.expires_at) - Date.now() + performance.now();
  };
  // A failure is ignored: the lease expires then, and the next write throws.
  const renewal = setInterval(() => void renew().catch(() => {}), RENEW_MS).unref();
  try {
    return await work(() => {
      if (performance.now() > until)
        throw new ConflictError('the lease of the deployment was lost. Try again.');
    });
  } finally {
    clearInterval(renewal);
    await request('DELETE', `${LEASE}/${lease.id}`).catch(() => {});
  }
}

async function takeLease(
  request: Deployment['request'],
  note: Deployment['note'],
): Promise<{ id: string; expires_at: string }> {
  const running = () =>
    new ConflictError('another configuration is being applied. Try again when it is done.');
  let held: { id: string; expires_at: string } | undefined;
  for (;;) {
    try {
      const { body } = await request('POST', LEASE);
      if (held === undefined || body.took_over) return body;
      await request('DELETE', `${LEASE}/${body.id}`);
      throw running();
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
    const now = await request('GET', LEASE).then(
      ({ body }) => body,
      () => undefined,
    );
    // The holder has released or renewed it, and is alive.
    if (now === undefined || (held !== undefined && now.expires_at !== held.expires_at)) throw running();
    if (held === undefined)
      note('Waiting for the lease of another apply to expire, which takes 30 s at most…');
    held = now;
    await sleep(RETRY_MS);
  }
}

/** Has the deployment check the steps of a plan that do not depend on other steps. Throws a {@link ConfigurationError}. */
export async function checkPlan(
  changes: readonly Change[],
  { deployment, references }: { deployment: Deployment; references: References },
) {
  const names = new Set(
    changes.filter(({ action }) => action === 'create').map(({ entry }) => entry && keyOf(entry)),
  );
  const changed = new Set(changes.map(({ kind }) => kind.kind));
  const problems = await mapConcurrently(changes, async (change): Promise<Problem[]> => {
    const { action, kind, entry, id, parent } = change;
    if (entry === undefined || (parent !== undefined && parent.id === undefined)) return [];
    if (kind.restsOn.some((it) => changed.has(it))) return [];
    const pending = await references.unresolved(kind, change.values);
    if (pending.some(({ target, value }) => names.has(`${target} ${value}`) && target !== 'applications'))
      return [];
    const values = Object.fromEntries(
      Object.entries(change.values).filter(
        ([name]) => !pending.some(({ field }) => field.split('.')[0] === name),
      ),
    );
    const body = await references.toApi(kind, bodyOf(change, values));
    // An object that is replaced is created again.
    const isCreated = action === 'create' || !kind.updates;
    const path = pathOf(kind, parent?.id, isCreated ? undefined : id);
    try {
      await deployment.request(isCreated ? 'POST' : 'PATCH', path, { body, headers: dryRun(deployment) });
      return [];
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500 || error.status === 401) throw error;
      const { error: problem } = Object(error.body) as { error?: { details?: { field: string }[] } };
      const field = Object(problem).details?.[0]?.field as string | undefined;
      return [entry.problem(error.message, field)];
    }
  });
  if (problems.flat().length > 0) throw new ConfigurationError(problems.flat());
}

const dryRun = ({ headers }: Deployment) => ({
  'gatehouse-configuration': [headers['gatehouse-configuration'], 'dry-run'].filter(Boolean).join(', '),
});

const keyOf = ({ kind, values }: Entry) => `${kind.kind} ${values[kind.name]}`;

/** The body of a request: all fields of a new object, or the fields that differ and the secrets, which other fields may need. */
function bodyOf({ action, fields, kind }: Change, values: Values): Record<string, unknown> {
  const sent = new Set([...fields.map(({ field }) => field), ...kind.secrets]);
  const isUpdate = action === 'change' && kind.updates;
  return Object.fromEntries(
    Object.entries(values).filter(([name, value]) => (isUpdate ? sent.has(name) : value !== null)),
  );
}

/**
 * Carries out a plan, step by step. Each step calls `onDone` with the response, which has the secrets of a new object. Throws a
 * {@link ConflictError} when an object has changed since the plan was made.
 */
export async function applyPlan(
  changes: readonly Change[],
  options: {
    deployment: Deployment;
    references: References;
    requireLease(): void;
    onDone(change: Change, response: Values): void;
  },
): Promise<void> {
  const { deployment, references, requireLease } = options;
  const created = new Map<Entry, string>();
  for (const change of changes) {
    const { kind, action, entry, id, values } = change;
    const parent = change.parent?.entry && (change.parent.id ?? created.get(change.parent.entry));
    const list = pathOf(kind, parent);
    const one = pathOf(kind, parent, id);
    const body = () => references.toApi(kind, bodyOf(change, values));
    const write = (method: string, path: string, sent?: object) => {
      requireLease();
      return deployment.request(method, path, sent);
    };
    try {
      const isReplaced = action === 'change' && !kind.updates && !kind.upserts;
      const ifMatch = id !== undefined && kind.updates ? { ifMatch: await etagOf(change, one, options) } : {};
      if (action === 'delete' || isReplaced) await write('DELETE', one, ifMatch);
      let response: Values = {};
      if (action === 'change' && kind.updates) await write('PATCH', one, { body: await body(), ...ifMatch });
      else if (action !== 'delete') ({ body: response } = await write('POST', list, { body: await body() }));
      if (action === 'create' && entry !== undefined) {
        created.set(entry, String(response[kind.id]));
        if (kind.kind === 'applications')
          references.bind(String(values[kind.name]), String(response[kind.id]));
      }
      options.onDone(change, response);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 412)
        throw new ConflictError(`${change.name} has changed since the plan was made.`);
      throw new CliError(`${change.name}: ${error.message}`);
    }
  }
}

/** The ETag of an object. Throws a {@link ConflictError} when the object has changed since the plan was made. */
async function etagOf(
  { kind, name, fields }: Change,
  path: string,
  { deployment, references }: { deployment: Deployment; references: References },
): Promise<string> {
  const { body, headers } = await deployment.request('GET', path);
  const now = await references.toFile(kind, body);
  const isSame = fields.every(
    ({ field, before }) =>
      kind.secrets.includes(field) || JSON.stringify(now[field]) === JSON.stringify(before),
  );
  if (!isSame) throw new ConflictError(`${name} has changed since the plan was made.`);
  return headers.get('etag') ?? '*';
}

import { createHmac, hkdfSync, randomUUID } from 'node:crypto';
import { ServiceError } from '@gatehouse/kit/errors';
import { createSealer, type Sealer } from '@gatehouse/kit/sealing';
import type { FastifyRequest } from 'fastify';
import type { Answer } from './answer.ts';
import { callerOf } from './authenticate.ts';

/** How long an answer is kept, and how long an attempt may run before another goes on with it; in milliseconds. */
const KEPT = 24 * 3_600_000;
const LEASE = 60_000;
/** In seconds: most attempts are over by then. */
const RETRY_AFTER = '1';

/** One attempt at a request. */
export type Attempt = {
  /** The id that what is created gets: every attempt with the same key gets the same. */
  reservedId: string;
  /** Whether an earlier attempt may have created it already, and ended without saying so. */
  again: boolean;
};

export type Idempotency = {
  /**
   * Runs a request that creates something, or answers as an earlier attempt with the same Idempotency-Key did. Call
   * it once the caller is known to be permitted, and the body to be valid. Beside what `run` throws, it throws
   * `invalid` for a key that is none, `idempotency_key_reused` when the key belongs to another body, and `conflict`
   * with Retry-After while another attempt is running.
   */
  once(request: FastifyRequest, run: (attempt: Attempt) => Promise<Answer>): Promise<Answer>;
};

/** What a store finds under a key: it is for us to run, runs elsewhere, is of another body, or is done. */
export type Claim =
  | { state: 'ours'; reservedId: string; again: boolean }
  | { state: 'running' }
  | { state: 'reused' }
  | { state: 'done'; answer: string };

/** Where keys are kept. It gets nothing that can be read: hashes and ciphertext. */
export type IdempotencyStore = {
  /**
   * Takes a key for the holder until the lease ends. A key that is known, with the same fingerprint, and without an
   * answer, is taken over when its lease has ended: then the id is the one that was reserved first.
   */
  claim(claim: {
    id: string;
    fingerprint: string;
    holder: string;
    reservedId: string;
    now: Date;
    leaseUntil: Date;
    expiresAt: Date;
  }): Promise<Claim>;
  /** Keeps the answer, if the holder still has the key. */
  complete(done: { id: string; holder: string; answer: string; expiresAt: Date }): Promise<void>;
  /** Ends the holder's lease at once; `forget` gives the key up altogether, with the id that was reserved. */
  release(done: { id: string; holder: string; now: Date; forget: boolean }): Promise<void>;
};

/**
 * Safe repetition of requests that create (draft-ietf-httpapi-idempotency-key-header): with an Idempotency-Key the same
 * caller, method, path and body get the answer of the first attempt for 24 hours. `newId` makes the ids of what is
 * created, `now` is the time in milliseconds. An attempt that ends without a word, as when its process dies, holds up
 * others for at most 60 s; the next one is told that it runs `again`. Only answers of success are kept: what was
 * refused may be tried again with the same key, also corrected.
 */
export function createIdempotency(options: {
  store: IdempotencyStore;
  newId: () => string;
  now?: () => number;
}): Idempotency {
  const { store, newId, now = Date.now } = options;
  const after = (ms: number) => new Date(now() + ms);

  async function claimed(secrets: Secrets, body: unknown, holder: string): Promise<Claim> {
    return await store.claim({
      id: secrets.id,
      fingerprint: fingerprintOf(body, secrets),
      holder,
      reservedId: newId(),
      now: after(0),
      leaseUntil: after(LEASE),
      expiresAt: after(KEPT),
    });
  }

  return {
    async once(request, run) {
      const key = keyOf(request);
      if (key === undefined) return await run({ reservedId: newId(), again: false });
      const secrets = secretsOf(key, scopeOf(request));
      const { id, sealer } = secrets;
      const holder = randomUUID();
      const claim = await claimed(secrets, request.body, holder);
      if (claim.state === 'done') return replayed(JSON.parse(sealer.open(claim.answer, id)) as Answer);
      if (claim.state !== 'ours') throw REFUSALS[claim.state]();

      const release = (forget: boolean) =>
        store.release({ id, holder, now: after(0), forget }).catch((error: unknown) => {
          request.log.warn({ err: error, req_id: request.id }, 'an idempotency key was not released');
        });
      const { reservedId, again } = claim;
      let answer: Answer;
      try {
        answer = await run({ reservedId, again });
      } catch (error) {
        // A refusal says that nothing was created. After a failure nobody knows, and the next attempt has to look.
        await release(error instanceof ServiceError && error.status < 500);
        throw error;
      }
      if (answer.status < 200 || answer.status >= 300) {
        await release(answer.status < 500);
        return answer;
      }
      await store
        .complete({ id, holder, answer: sealer.seal(JSON.stringify(answer), id), expiresAt: after(KEPT) })
        .catch((error: unknown) => {
          // It is created: a repetition runs again when the lease has ended, and finds it.
          request.log.warn({ err: error, req_id: request.id }, 'an answer was not kept');
        });
      return answer;
    },
  };
}

const REFUSALS = {
  running: () =>
    new ServiceError('conflict', 'A request with this Idempotency-Key is still running.', {
      headers: { 'retry-after': RETRY_AFTER },
    }),
  reused: () =>
    new ServiceError('idempotency_key_reused', 'This Idempotency-Key was used with another body.'),
};

/** The key of a request; undefined when it has none. */
function keyOf({ headers }: FastifyRequest): string | undefined {
  const header = headers['idempotency-key'];
  // Node joins repeated ones with a comma and a space, which no key has.
  if (header !== undefined && !/^[!-~]{1,255}$/.test(String(header))) {
    throw new ServiceError('invalid', 'Idempotency-Key must be 1 to 255 visible ASCII characters.');
  }
  return header === undefined ? undefined : String(header);
}

/** Whose key it is and for what: nobody meets a key of somebody else. */
function scopeOf(request: FastifyRequest): string {
  const { clientId, subject } = callerOf(request);
  return JSON.stringify([clientId, subject, request.method, request.url.split('?', 1)[0]]);
}

/** What a key is found under, the key of its fingerprint, and what seals its answer. */
type Secrets = { id: string; mac: Buffer; sealer: Sealer };

/** All of it derived, so that the database alone tells nothing (RFC 5869). */
function secretsOf(key: string, scope: string): Secrets {
  const bytes = Buffer.from(hkdfSync('sha256', key, scope, 'gatehouse idempotency', 96));
  return {
    id: bytes.subarray(0, 32).toString('base64url'),
    mac: bytes.subarray(32, 64),
    sealer: createSealer(bytes.subarray(64)),
  };
}

/** Bodies that mean the same have the same. */
function fingerprintOf(body: unknown, { mac }: Secrets): string {
  return createHmac('sha256', mac)
    .update(JSON.stringify(sorted(body)) ?? '')
    .digest('base64url');
}

/** With the fields of all objects in one order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  // As a list, since an object would put names that are numbers first, in either case.
  return { fields: fields.map(([name, inner]) => [name, sorted(inner)]) };
}

function replayed(answer: Answer): Answer {
  return { ...answer, headers: { ...answer.headers, 'idempotency-replayed': 'true' } };
}

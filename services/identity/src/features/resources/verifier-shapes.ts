import { shape } from '@gatehouse/api/openapi/shapes';
import { Type } from 'typebox';
import type { Verifier } from './verifier-store.ts';

const Time = Type.String({ format: 'date-time' });
const identity = {
  id: Type.String({ description: 'Random, one for each process.' }),
  language: Type.String({ enum: ['node', 'python', 'go'] }),
  version: Type.String({ description: 'The version of the package.' }),
};
const EXAMPLE = { id: '0f8fad5b-d9cb-469f-a165-70867728950e', language: 'node', version: '0.1.0' };

const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const counts = Type.Object({
  person: Count,
  machine: Count,
  key: Count,
  refused: Type.Array(
    Type.Object({
      status: Type.Integer({ minimum: 400, maximum: 599 }),
      error: Type.String({ pattern: '^[a-z_]{1,50}$' }),
      count: Count,
    }),
    { maxItems: 20 },
  ),
});
const COUNTS = {
  ...{ person: 1203, machine: 88, key: 0 },
  refused: [{ status: 401, error: 'invalid_token', count: 12 }],
};

export const verifierShape = shape(
  'Verifier',
  Type.Object({
    ...identity,
    stale: Type.String({
      enum: ['introspect', 'refuse', 'accept'],
      description:
        'The policy for tokens while it hears nothing of revocations: each is introspected, all are refused, or those not known to be revoked are accepted.',
    }),
    connected: Type.Boolean(),
    connected_since: Time,
    last_seen_at: Time,
    behind_seconds: Type.Integer({
      description:
        'The time since it had read all revocations, as recorded every 30 s; of one that is not connected or polls, since it was seen.',
    }),
    requests: Type.Union([counts, Type.Null()], {
      description:
        'The requests that it has verified since its start, by its last report; `null` before one.',
    }),
  }),
  {
    ...{ ...EXAMPLE, stale: 'introspect', connected: true, connected_since: '2026-11-02T09:30:00.000Z' },
    ...{ last_seen_at: '2026-11-02T10:15:30.000Z', behind_seconds: 0, requests: COUNTS },
  },
);

/** A healthy connection is as far behind as its heartbeats are apart. */
const HEARTBEAT_SECONDS = 2;

export function viewOf({ id, language, version, stale, isConnected, connectedAt, seenAt, ...it }: Verifier) {
  const seconds = Math.round(it.behindMs / 1000);
  return {
    ...{ id, language, version, stale, connected: isConnected },
    ...{ connected_since: connectedAt, last_seen_at: seenAt },
    behind_seconds: isConnected && seconds <= HEARTBEAT_SECONDS ? 0 : seconds,
    requests: it.requests ?? null,
  };
}

const Milliseconds = Type.Union([Type.Integer(), Type.Null()]);
export const revocationTestShape = shape(
  'RevocationTest',
  Type.Object({
    id: Type.String({ description: 'The `jti` of the revocation, which no token has.' }),
    verifiers: Type.Array(
      Type.Object({
        ...identity,
        sent_after_ms: Type.Union(Milliseconds.anyOf, {
          description:
            'How long after the beginning of the test it had been sent the revocation; `null` after two seconds without.',
        }),
        applied_after_ms: Type.Union(Milliseconds.anyOf, {
          description:
            'The same for its report that it applied the revocation; `null` where it does not report.',
        }),
      }),
    ),
  }),
  {
    id: 'revocation-test-7c9e6679-7425-40de-944b-e07fc1f90ae7',
    verifiers: [{ ...EXAMPLE, sent_after_ms: 18, applied_after_ms: null }],
  },
);

/** The outcome at a verifier that was connected when the test began, or has been sent the revocation since. */
export function testResultOf({ id, language, version, isConnected, test }: Verifier, wanted: string) {
  if (test?.id !== wanted || (!isConnected && test.sentAt === undefined)) return [];
  const after = (at: Date | undefined) => (at === undefined ? null : at.getTime() - test.begunAt.getTime());
  const times = { sent_after_ms: after(test.sentAt), applied_after_ms: after(test.appliedAt) };
  return [{ id, language, version, ...times }];
}

export const reportShape = shape(
  'VerifierReport',
  Type.Object({
    applied: Type.Optional(
      Type.String({
        maxLength: 200,
        description: 'The `id` of the revocation of a test, which it refuses from now on.',
      }),
    ),
    requests: Type.Optional(counts),
  }),
  { applied: 'revocation-test-7c9e6679-7425-40de-944b-e07fc1f90ae7', requests: COUNTS },
);

export const recentRevocationShape = shape(
  'RecentRevocation',
  Type.Object({
    kind: Type.String({ enum: ['token', 'grant', 'subject', 'client', 'key'] }),
    id: Type.String({ description: 'The end of the id of the token, grant, person, client or signing key.' }),
    until: Type.Integer({ description: 'When the last token that it concerns has expired, in seconds.' }),
    written_at: Time,
    test: Type.Boolean({ description: 'Whether it is from a test of revocation.' }),
  }),
  {
    ...{ kind: 'grant', id: '…8uLr4n2x', until: 1_796_000_000 },
    ...{ written_at: '2026-11-02T09:30:00.000Z', test: false },
  },
);

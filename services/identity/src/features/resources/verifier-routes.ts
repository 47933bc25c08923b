import { setTimeout as sleep } from 'node:timers/promises';
import type { RateLimiter } from '@gatehouse/api/http/rate-limit';
import { listOf, ok } from '@gatehouse/api/openapi/shapes';
import { type Audit, originOf } from '../../core/audit/audit.ts';
import type { Revocations } from '../../core/revocations/revocations.ts';
import type { ResourceApi } from './resource-api.ts';
import { resourceRevocation } from './resource-revocation.ts';
import { isTest, newTestId } from './verifier.ts';
import {
  recentRevocationShape,
  revocationTestShape,
  testResultOf,
  verifierShape,
  viewOf,
} from './verifier-shapes.ts';
import type { VerifierStore } from './verifier-store.ts';

/** Each test is an entry of the feed until tokens of now would have expired. */
export const REVOCATION_TESTS = { name: 'revocation tests of one API', quota: 10, seconds: 600 };

const MAX_RECENT = 50;
const TEST_MS = 2000;
/** The time for the reports of verifiers that apply a revocation, after it was sent to all. */
const REPORT_MS = 300;
const POLL_MS = 50;

/** The verifiers of a resource, and a test of these, for its owner. Errors are thrown. */
export function verifierRoutes(options: {
  resourceApi: ResourceApi;
  revocations: Pick<Revocations, 'recent' | 'write'>;
  verifierStore: Pick<VerifierStore, 'list' | 'beginTest'>;
  tests: Pick<RateLimiter, 'count'>;
  audit: Audit;
}): void {
  const { revocations, verifierStore, tests, audit } = options;
  const { api, findManaged } = options.resourceApi;

  api.get('verifiers', '/:id/verifiers', {
    summary: 'List the verifiers of a resource',
    description:
      'The processes of its servers that read its revocations with a package of Gatehouse; for its owner, and for admins. One is ' +
      'listed until some minutes after it was seen last, and at most 100 are.',
    responses: ok('The earliest connected first.', listOf('Verifiers', verifierShape)),
    async handle({ params, person }) {
      const { id } = await findManaged(params.id, { person });
      return { data: (await verifierStore.list(id)).map(viewOf) };
    },
  });

  api.get('recentRevocations', '/:id/recent-revocations', {
    summary: 'List the last revocations of a resource',
    description: `The last ${MAX_RECENT} that its servers read, with shortened ids; for its owner, and for admins.`,
    responses: ok('The latest first.', listOf('RecentRevocations', recentRevocationShape)),
    async handle({ params, person }) {
      const { id: resource } = await findManaged(params.id, { person });
      const recent = await revocations.recent(resource, MAX_RECENT);
      const data = recent.map((entry) => {
        const { kind, id, until } = resourceRevocation(entry);
        return { kind, id: `…${id.slice(-8)}`, until, written_at: entry.updatedAt, test: isTest(id) };
      });
      return { data };
    },
  });

  api.post('testRevocation', '/:id/revocation-test', {
    summary: 'Test the revocation at a resource',
    description:
      'Revokes a token that does not exist, and responds when all connected verifiers have been sent the revocation, after two seconds ' +
      `at most. For its owner, and for admins, ${REVOCATION_TESTS.quota} times in ten minutes for each resource. A test ends the one before.`,
    responses: ok('When each verifier was sent the revocation.', revocationTestShape),
    kinds: ['rate_limited'],
    async handle({ ctx, params, person }) {
      const { id: resource, identifier } = await findManaged(params.id, { person });
      ctx.set(await tests.count(resource));
      const id = newTestId();
      await verifierStore.beginTest(resource, id);
      await revocations.write([{ kind: 'token', id, resource }]);
      const details = { resource, identifier };
      await audit.record({
        action: 'resource.revocation_tested',
        origin: originOf(ctx),
        actor: person.id,
        details,
      });
      return { id, verifiers: await testResults(resource, id) };
    },
  });

  /** Waits until each verifier that the test began with was sent the revocation, and a moment for the reports. */
  async function testResults(resource: string, id: string) {
    const begun = performance.now();
    for (let sentAt: number | undefined; ; await sleep(POLL_MS)) {
      const results = (await verifierStore.list(resource)).flatMap((it) => testResultOf(it, id));
      const now = performance.now();
      if (results.every((it) => it.sent_after_ms !== null)) sentAt ??= now;
      const isReported = results.every((it) => it.applied_after_ms !== null);
      if (isReported || now - begun > TEST_MS || (sentAt !== undefined && now - sentAt > REPORT_MS)) {
        return results;
      }
    }
  }
}

import type { Caller, Needs } from '@gatehouse/verify/core';
import fc from 'fast-check';
import t from 'tap';
import { localVerifier, tokenOfNow } from './local.ts';

const SCOPES = ['a', 'b', 'c', 'd'];
const LEVELS = ['urn:gatehouse:acr:single-factor', 'urn:gatehouse:acr:multi-factor', 'phr'];
const verifier = localVerifier();

const caller = fc.record({
  scope: fc.subarray(SCOPES).map((scopes) => scopes.join(' ')),
  acr: fc.option(fc.constantFrom(...LEVELS, 'other'), { nil: undefined }),
  age: fc.option(fc.integer({ min: 0, max: 1000 }), { nil: undefined }),
  sub: fc.constantFrom('usr_1', 'cli_1'),
});
const needs = fc.record(
  {
    scopes: fc.subarray(SCOPES),
    acr: fc.constantFrom(...LEVELS, 'other'),
    maxAge: fc.integer({ min: 10, max: 990 }).filter((age) => age % 2 === 0),
  },
  { requiredKeys: [] },
);

/** The first thing that is missing, by the words of the specification. */
function missing(has: { scope: string; acr?: string | undefined; age?: number | undefined }, need: Needs) {
  if (need.scopes?.some((scope) => !has.scope.split(' ').includes(scope))) return 'insufficient_scope';
  const { acr } = need;
  const enough = acr === undefined || acr === 'other' ? [acr] : LEVELS.slice(LEVELS.indexOf(acr));
  const isWeak = acr !== undefined && !enough.includes(has.acr);
  const isOld = need.maxAge !== undefined && (has.age === undefined || has.age > need.maxAge);
  return isWeak || isOld ? 'insufficient_user_authentication' : undefined;
}

t.test('a caller passes exactly when nothing is missing', async (t) => {
  const property = fc.asyncProperty(caller, needs, async (has, need) => {
    // An odd age is never on the edge of an even limit when a second passes.
    const age = has.age === undefined ? undefined : has.age - (has.age % 2) - 1;
    const now = Math.floor(Date.now() / 1000);
    const authTime = age === undefined ? {} : { auth_time: now - age };
    const token = await tokenOfNow({ scope: has.scope, acr: has.acr, sub: has.sub, ...authTime });
    const request = new Request('https://api.example.com/', {
      headers: { authorization: `Bearer ${token}` },
    });
    const outcome: Caller | Error = await verifier.verify(request, need as Needs).catch((error) => error);
    const reason = missing({ ...has, age }, need as Needs);
    if (reason === undefined) return 'subject' in outcome && outcome.subject === has.sub;
    return 'error' in outcome && outcome.error === reason;
  });
  await fc.assert(property, { numRuns: 300 });
  t.ok(verifier.metrics().verified > 10);
});

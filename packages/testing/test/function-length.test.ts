import { resolve } from 'node:path';
import t from 'tap';
import { readSources } from '../src/import-rules.ts';

const MAX_LINES = 110;
/** Begins a function at the top level; those within it are shorter than it is. */
const FUNCTION =
  /^(?:export )?(?:(?:async )?function\*? (\w+)|const (\w+)(?:: [^=]+)? = (?:async )?(?:<.*>)?\()/;

/** The longer functions, each with what a split would cost. */
const REASONS: Readonly<Record<string, string>> = {
  addAccessRoutes: 'a list of short handlers',
  addDeliveryRoutes: 'a list of declared endpoints',
  addProfileRoutes: 'a list of short handlers',
  authRoutes: 'a list of declared endpoints',
  createJobWorker: 'one loop, whose steps share the turns of owners, the timers and the wake-up',
  createRevocationFeed: 'one state machine: nearly every step reads the gaps, the failures and the freshness',
  createTestIssuer: 'a list of short endpoints on the same state, for tests only',
  createUserService: 'a list of short use cases with the same dependencies',
  createUserStore: 'a list of short queries and writes of one collection',
  identityProviderRoutes: 'a list of declared endpoints',
  interactionRoutes: 'the pages of one sign-in, each of which can lead to each other',
  invitationRoutes: 'a list of declared endpoints',
  providerSignIn: 'the outcomes of one sign-in, which share what the interaction keeps',
  recoveryRoutes: 'a list of short handlers',
  resourceRoutes: 'a list of declared endpoints',
  trustedIssuerRoutes: 'a list of declared endpoints',
};

t.test('functions are short, but for those with a reason', async (t) => {
  const sources = readSources(resolve(import.meta.dirname, '../../..'));
  const read = sources.filter(({ path }) =>
    /^(?:(?:services|packages)\/[\w-]+|deploy\/local)\/src\//.test(path),
  );
  t.ok(read.length > 300, `${read.length} files`);
  const long = read.flatMap(({ text }) => longFunctions(text));
  t.same(long.sort(), Object.keys(REASONS));
});

/** The names of the functions that are too long. Biome's format ends each with a line of its own that is not indented. */
function longFunctions(text: string): string[] {
  const lines = text.split('\n');
  return lines.flatMap((line, first) => {
    const [, name = '', constant = ''] = FUNCTION.exec(line) ?? [];
    if (name === '' && constant === '') return [];
    const length = lines.slice(first).findIndex((it) => /^\S.*[;}]$|^\}$/.test(it)) + 1;
    return length > MAX_LINES ? [name || constant] : [];
  });
}

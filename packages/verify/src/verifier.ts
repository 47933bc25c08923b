import { createCore, type StalePolicy, type Verifier } from './core.ts';
import { createDiscovery } from './discovery.ts';
import type { ReplayStore } from './dpop.ts';
import { createFeed } from './feed.ts';
import { createIntrospection } from './introspection.ts';
import { createRemoteKeys } from './remote-keys.ts';
import { createReports, noRequests } from './reports.ts';
import { basicAuthorization, type Fetch } from './requests.ts';
import { createRevocationSet } from './revocations.ts';

export type { Caller, Metrics, Needs, Verifier } from './core.ts';
export type { ReplayStore } from './dpop.ts';
export { VerifyError } from './errors.ts';
export type { MetadataOptions } from './metadata.ts';

/** `unchecked`: there are no credentials. `silent`: the feed is. `refused`: it does not accept the credentials. */
export type State = 'connected' | 'silent' | 'refused' | 'unchecked';

/** An application of type `resource` that has the owner of the API; for revocation and API keys. */
type Credentials =
  | { clientId: string; clientSecret: string }
  | { clientId?: undefined; clientSecret?: undefined };

export type VerifierOptions = Credentials & {
  /** The URL of Gatehouse, without a slash at its end. */
  issuer: string;
  /** The identifier of this API, a URL. */
  audience: string;
  /** When the revocations count as not known, 10 seconds by default, and what becomes of JWTs then; by default they are introspected. */
  stale?: { afterSeconds?: number; then?: StalePolicy };
  /** The number of tokens to remember, and of API keys: 10,000 by default. */
  cache?: number;
  /** How far clocks may differ, in seconds: 5 by default. */
  clockSkew?: number;
  /**
   * The origins by which clients call the API, such as `https://api.example.com`. DPoP proofs are accepted for these alone; by default for
   * the origin of the audience, and for a loopback address where the request names it as its host.
   */
  origins?: readonly string[];
  /**
   * Without `origins`: whether DPoP proofs are also accepted for the origin in `x-forwarded-proto` and `x-forwarded-host`. Only for a
   * proxy that sets both, and passes on requests for the API's own hosts alone.
   */
  trustProxy?: boolean;
  /** Shared by the replicas of an API, so that each DPoP proof is accepted once by all of them. */
  replayStore?: ReplayStore;
  /** Called with one line for each change of state; without it, the line is written to stderr. */
  log?: (line: string, state: State) => void;
  /** In place of the global fetch. */
  fetch?: Fetch;
};

const VERSION = '0.1.0';
const CONSEQUENCES: Record<StalePolicy, string> = {
  introspect: 'each token is introspected',
  refuse: 'requests are refused',
  accept: 'tokens are accepted by what is known',
};

/** Verifies the requests of an API. It follows the API's revocations until it is closed. */
export function createVerifier(options: VerifierOptions): Verifier {
  const { issuer, audience, clientId, clientSecret, fetch = globalThis.fetch } = options;
  const { log = (line) => void process.stderr.write(`${line}\n`) } = options;
  const { afterSeconds: staleAfterSeconds = 10, then: staleThen = 'introspect' } = options.stale ?? {};
  if (!URL.canParse(issuer) || issuer.endsWith('/')) {
    throw new TypeError('The issuer must be a URL without a slash at its end.');
  }
  if (!URL.canParse(audience)) throw new TypeError('The audience must be a URL.');
  if (!(options.origins ?? []).every(isOrigin)) {
    throw new TypeError('origins must have a scheme and a host alone, such as https://api.example.com.');
  }
  if ((clientId === undefined) !== (clientSecret === undefined)) {
    throw new TypeError('clientId and clientSecret must be given together.');
  }
  if (!Object.hasOwn(CONSEQUENCES, staleThen)) {
    throw new TypeError('stale.then must be introspect, refuse or accept.');
  }
  const set = createRevocationSet();
  const discovery = createDiscovery({ issuer, fetch });
  const keys = createRemoteKeys({ url: () => discovery.url('jwks_uri'), fetch });
  const parts = { ...options, keys: keys.get, isPublished: keys.isPublished, set, staleThen };
  if (clientId === undefined || clientSecret === undefined) {
    log(
      `gatehouse-verify: revocation is not checked for ${audience}, as there are no credentials.`,
      'unchecked',
    );
    return createCore(parts);
  }
  const authorization = basicAuthorization(clientId, clientSecret);
  const counts = noRequests();
  const id = crypto.randomUUID();
  const headers = {
    authorization,
    'user-agent': `gatehouse-verify-node/${VERSION}`,
    'x-gatehouse-verifier': `id=${id}; stale=${staleThen}`,
  };
  const feed = createFeed({
    issuer,
    audience,
    set,
    fetch,
    staleAfterSeconds,
    headers,
    reports: createReports({ issuer, id, fetch, headers, counts }),
    onState(state, status) {
      const lines = {
        connected: `the revocations for ${audience} are followed.`,
        silent: `the revocations for ${audience} are not known; ${CONSEQUENCES[staleThen]}.`,
        refused: `the revocations for ${audience} are refused with status ${status}; ${CONSEQUENCES[staleThen]}.`,
      };
      log(`gatehouse-verify: ${lines[state]}`, state);
    },
  });
  const introspect = createIntrospection({
    url: () => discovery.url('introspection_endpoint'),
    authorization,
    fetch,
  });
  return createCore({ ...parts, counts, credentials: { introspect, feed } });
}

function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, origin, href } = new URL(text);
  return /^https?:$/.test(protocol) && href === `${origin}/`;
}

import { randomBytes } from 'node:crypto';
import { createSealer, type KeyList } from '@gatehouse/core/sealing';

/** The values that the response to an authorization request is checked against. */
export type AuthorizationChecks = {
  nonce: string;
  /** RFC 7636 §4.1 */
  verifier: string;
  /** Whether the person has to sign in at the provider again, although they are signed in there. */
  isFresh: boolean;
};

export type RequestPurpose = {
  provider: string;
  /** The sign-in, or the session, that it is made in. */
  context: string;
  /** The id of the browser. */
  browser: string;
};

type Pending = RequestPurpose & AuthorizationChecks & { returnTo: string; until: number };

/** The `state` of authorization requests (RFC 6749 §4.1.1), which holds by itself, sealed, what we have to know when the response comes. */
export type AuthorizationStates = {
  /** `returnTo` is the path that handles the response. */
  issue(
    purpose: RequestPurpose,
    more: { returnTo: string; isFresh: boolean },
  ): { state: string; checks: AuthorizationChecks };
  /** Where to handle the response to a request to this provider; undefined when we have not made it. */
  returnTo(state: string, provider: string): string | undefined;
  /** The checks of the request with this state, if it was made for this purpose, lately, and has had no response before. */
  use(state: string, purpose: RequestPurpose): Promise<AuthorizationChecks | undefined>;
};

/** RFC 7636 §7.1: 256 bits. */
const random = () => randomBytes(32).toString('base64url');

/**
 * @param options.seconds how long somebody may take at the provider
 * @param options.useOnce whether this is the first use of a name until then, over all replicas
 */
export function createAuthorizationStates(options: {
  keys: KeyList;
  seconds: number;
  useOnce(name: string, until: Date): Promise<boolean>;
}): AuthorizationStates {
  const sealer = createSealer(options.keys);

  function open(state: string, provider: string): Pending | undefined {
    try {
      return JSON.parse(sealer.open(state, provider)) as Pending;
    } catch {
      // Made by somebody else, for another provider, or altered.
      return undefined;
    }
  }

  return {
    issue(purpose, { returnTo, isFresh }) {
      const checks = { nonce: random(), verifier: random(), isFresh };
      const until = Date.now() + options.seconds * 1000;
      const pending: Pending = { ...purpose, ...checks, returnTo, until };
      return { state: sealer.seal(JSON.stringify(pending), purpose.provider), checks };
    },
    returnTo: (state, provider) => open(state, provider)?.returnTo,
    async use(state, { provider, context, browser }) {
      const pending = open(state, provider);
      if (pending === undefined || pending.context !== context || pending.browser !== browser)
        return undefined;
      const { nonce, verifier, isFresh, until } = pending;
      // By the nonce, as different texts can stand for the same bytes.
      if (until <= Date.now() || !(await options.useOnce(`authorization ${nonce}`, new Date(until))))
        return undefined;
      return { nonce, verifier, isFresh };
    },
  };
}

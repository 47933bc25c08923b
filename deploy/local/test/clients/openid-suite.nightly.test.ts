import { jsonRequest, loginToken } from '@gatehouse/testing/json-request';
import { freePort, spawnNode, until } from '@gatehouse/testing/processes';
import t from 'tap';
import type { Demo } from '../../src/demo.ts';
import { startGatehouse, temporaryDir } from '../gatehouse.ts';
import { startSuite, startTls } from './openid-suite.ts';

// The OpenID Foundation's conformance suite (written for 5.2.4), with clients that register themselves and a browser that signs people in.

const { OPENID_CONFORMANCE_SUITE: JAR } = process.env;
const NO_JAR =
  'OPENID_CONFORMANCE_SUITE names no jar. With Java 21 and Maven: git clone https://gitlab.com/openid/conformance-suite, ' +
  'mvn -DskipTests package, and take its target/fapi-test-suite.jar';
const ROTATE_KEYS = new URL('../../src/rotate-keys.ts', import.meta.url).pathname;

/** The modules that do not pass, with the first condition that fails, for what docs/standards.md says is left out. */
const EXPECTED: Record<string, { variant: object; results: Record<string, string> }> = {
  'oidcc-dynamic-certification-test-plan': {
    variant: { response_type: 'code' },
    results: {
      'oidcc-idtoken-unsigned': 'SKIPPED',
      // Signed responses of /userinfo; the response type id_token; jwks_uri; pairwise subjects; request objects.
      'oidcc-userinfo-rs256': 'FAILED CheckDiscEndpointUserinfoSigningAlgValuesSupportedContainsRS256',
      'oidcc-discovery-endpoint-verification': 'FAILED OIDCCCheckDiscEndpointResponseTypesSupportedDynamic',
      'oidcc-registration-jwks-uri': 'FAILED EnsureHttpStatusCodeIs201',
      'oidcc-refresh-token-rp-key-rotation': 'FAILED EnsureHttpStatusCodeIs201',
      'oidcc-registration-sector-uri': 'SKIPPED',
      'oidcc-registration-sector-bad': 'SKIPPED',
      'oidcc-request-uri-unsigned': 'FAILED CheckDiscEndpointRequestUriParameterSupported',
      'oidcc-request-uri-signed-rs256': 'FAILED CheckDiscEndpointRequestUriParameterSupported',
    },
  },
  'oidcc-basic-certification-test-plan': {
    variant: { server_metadata: 'discovery', client_registration: 'dynamic_client' },
    results: {
      'oidcc-idtoken-unsigned': 'SKIPPED',
      // The demo user has few claims. Mail addresses are in ID tokens too (docs/guides/integrators.md).
      'oidcc-scope-profile': 'WARNING VerifyScopesReturnedInUserInfoClaims',
      'oidcc-scope-email': 'WARNING EnsureIdTokenDoesNotContainEmailForScopeEmail',
      'oidcc-alternate-happy-flow': 'WARNING EnsureIdTokenDoesNotContainEmailForScopeEmail',
      'oidcc-scope-address': 'SKIPPED',
      'oidcc-scope-phone': 'SKIPPED',
      'oidcc-scope-all': 'SKIPPED',
      'oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported': 'SKIPPED',
      'oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported': 'SKIPPED',
    },
  },
  'oidcc-rp-initiated-logout-certification-test-plan': {
    variant: { response_type: 'code', client_registration: 'dynamic_client' },
    results: {},
  },
};

/** The text on a page that the suite wants a person to look at, as a picture: the result is then REVIEW. */
const PAGES: Record<string, string> = {
  'oidcc-prompt-login': 'Confirm that it is you',
  'oidcc-max-age-1': 'Confirm that it is you',
  'oidcc-ensure-registered-redirect-uri': 'We stopped this sign-in',
  'oidcc-ensure-redirect-uri-in-authorization-request': 'missing required parameter',
  'oidcc-ensure-request-object-with-redirect-uri': 'We stopped this sign-in',
  'oidcc-redirect-uri-query-added': 'We stopped this sign-in',
  'oidcc-redirect-uri-query-mismatch': 'We stopped this sign-in',
  // Logos of other sites are not shown (docs/adr/0039-dynamic-client-registration.md).
  'oidcc-registration-logo-uri': 'First client',
  'oidcc-registration-policy-uri': 'Privacy policy',
  'oidcc-registration-tos-uri': 'Terms of service',
  'oidcc-rp-initiated-logout-bad-post-logout-redirect-uri': 'We could not sign you out',
  'oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri': 'We could not sign you out',
  'oidcc-rp-initiated-logout-modified-id-token-hint': 'We could not sign you out',
  'oidcc-rp-initiated-logout-bad-id-token-hint': 'We could not sign you out',
  'oidcc-rp-initiated-logout-no-id-token-hint': 'Sign out',
  'oidcc-rp-initiated-logout-no-params': 'You are signed out',
  'oidcc-rp-initiated-logout-no-post-logout-redirect-uri': 'You are signed out',
  'oidcc-rp-initiated-logout-only-state': 'You are signed out',
};

type Module = { testModule: string; variant: object };

/** The configuration of plans (the suite's BrowserControl.java documents `browser`). */
function configuration(issuer: string, { user }: Demo, initial_access_token: string) {
  const see = (text: string) => ['wait', 'xpath', '//*', 10, text, 'update-image-placeholder'];
  const click = (selector: string) => ['click', 'css', selector];
  const optional = true;
  const authorize = (...before: unknown[]) => ({
    match: `${issuer}/oauth2/authorize*`,
    tasks: [
      {
        ...{ task: 'Sign in', match: `${issuer}/sign-in/*`, optional },
        commands: [
          ...before,
          ['text', 'id', 'username', user.username],
          ['text', 'id', 'password', user.password],
          click('form button.primary'),
        ],
      },
      { task: 'Consent', match: `${issuer}/consent/*`, optional, commands: [click('button[value=allow]')] },
      { task: 'Callback', match: '*/callback*', commands: [['wait', 'id', 'submission_complete', 10]] },
    ],
  });
  const logout = (...tasks: object[]) => ({ match: `${issuer}/oauth2/logout*`, tasks });
  const signOut = { task: 'Sign out', commands: [click('button.primary')] };
  const browserOf = (module: string, text: string) => {
    const page = { task: 'Page', commands: [see(text)] };
    if (text === 'Confirm that it is you')
      return [{ ...authorize(), 'match-limit': 1 }, authorize(see(text))];
    if (text === 'You are signed out') return [authorize(), logout(signOut, page)];
    if (module.includes('logout')) return [authorize(), logout(page)];
    return [{ match: '*', tasks: [page] }];
  };
  return {
    ...{ alias: 'gatehouse', server: { discoveryUrl: `${issuer}/.well-known/openid-configuration` } },
    client: { client_name: 'First client', initial_access_token },
    client2: { client_name: 'Second client', initial_access_token },
    browser: [authorize(), logout(signOut, { task: 'Application', match: '*/post_logout_redirect*' })],
    override: Object.fromEntries(
      Object.entries(PAGES).map(([module, text]) => [module, { browser: browserOf(module, text) }]),
    ),
  };
}

t.test('the plans of the OpenID Foundation', { skip: JAR === undefined && NO_JAR }, async (t) => {
  const [port, dataDir] = [await freePort(), temporaryDir(t)];
  const issuer = `https://localhost:${await startTls(t, port)}`;
  const { demo, base } = await startGatehouse(t, dataDir, { PORT: String(port), PUBLIC_URL: issuer });
  const call = await startSuite(t, String(JAR));
  const login = await loginToken(base, demo.admin);

  async function keyIds() {
    const { body } = await jsonRequest<{ keys: { kid: string }[] }>('GET', `${base}/.well-known/jwks.json`);
    return body.keys.map(({ kid }) => kid).join();
  }

  async function rotateKeys() {
    const before = await keyIds();
    await spawnNode(ROTATE_KEYS, { DATA_DIR: dataDir, MONGODB_URI: undefined }).ended;
    await until(async () => (await keyIds()) !== before, 30_000);
  }

  /** Runs a module; returns its result and the first condition that failed. */
  async function run(plan: string, { testModule: test, variant }: Module): Promise<string> {
    const made = await call<{ id: string }>('POST', 'runner', {
      ...{ plan, test, variant: JSON.stringify(variant) },
    });
    const { id } = made.body;
    const reach = (state: string) =>
      until(async () => {
        const states = `${state},INTERRUPTED`;
        const { body } = await call('GET', `runner/${id}/wait-state`, { states, timeoutMs: '30000' });
        return 'state' in body;
      }, 120_000);
    if (test === 'oidcc-server-rotate-keys') {
      await reach('CONFIGURED');
      await rotateKeys();
      await call('POST', `runner/${id}`);
    }
    await reach('FINISHED');
    const { result } = (await call<{ result: string }>('GET', `info/${id}`)).body;
    const level = { FAILED: 'FAILURE', WARNING: 'WARNING' }[result];
    const log = (await call<{ src: string; result?: string }[]>('GET', `log/${id}`)).body;
    const condition = log.find((entry) => level !== undefined && entry.result === level)?.src;
    return condition === undefined ? result : `${result} ${condition}`;
  }

  for (const [planName, { variant, results }] of Object.entries(EXPECTED)) {
    const { body: registration } = await jsonRequest<{ token: string }>(
      ...(['POST', `${base}/api/v1/registration-tokens`] as const),
      { token: login, body: { name: planName, scopes: ['openid', 'profile', 'email'], uses: 100 } },
    );
    const query = { planName, variant: JSON.stringify(variant) };
    const config = configuration(issuer, demo, registration.token);
    const { body: plan } = await call<{ id: string; modules: Module[] }>('POST', 'plan', query, config);
    const got: Record<string, string> = {};
    for (const module of plan.modules) got[module.testModule] = await run(plan.id, module);
    const others = Object.keys(got).map((name) => [name, name in PAGES ? 'REVIEW' : 'PASSED']);
    t.strictSame(got, { ...Object.fromEntries(others), ...results }, planName);
  }
});

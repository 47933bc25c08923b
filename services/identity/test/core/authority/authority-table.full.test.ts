import { existsSync } from 'node:fs';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import t from 'tap';
import {
  ACCOUNT_EVENTS,
  AUTHORITY,
  AUTHORITY_EVENTS,
  type AuthorityEvent,
  type GivenCapability,
  MEMBER_EVENTS,
} from '../../../src/core/authority/authority-table.ts';
import { outcomeOf } from '../../../src/core/authority/standing-access.ts';
import { authorizeUrl, build, NATIVE, PASSWORD, signInAndAllow, WEB } from '../../build.ts';
import { connectCommandLine } from '../../command-line.ts';
import { startIssuer } from '../../features/trusted-issuers/workload-issuer.ts';
import { isSignIn, linkTo, newPerson, responseOf, signedIn, UNDO } from '../../pages.ts';
import { refresh, type Tokens, tokensFor } from '../../tokens.ts';

/** Kinds whose cells have tests of their own, since they take other services or browsers. */
const TESTED_ELSEWHERE: Partial<Record<GivenCapability, string>> = {
  application_webhook: 'services/notifications/test/webhooks/authority.test.ts',
  personal_webhook: 'services/notifications/test/webhooks/authority.test.ts',
  resource_application: 'services/identity/test/features/resources/resources.test.ts',
  linked_identity: 'services/identity/test/features/identity-providers/identity-providers-api.test.ts',
  identity_assertion: 'services/identity/test/features/trusted-issuers/identity-assertions.full.test.ts',
  issued_assertion: 'services/identity/test/features/token-exchange/issue-identity-assertions.full.test.ts',
  passkey: 'services/identity/test/features/account/recovery/undo.full.test.ts',
};
/** Events that a session ends with, which take browsers with passkeys and other providers. */
const EVENTS_TESTED_ELSEWHERE: Partial<Record<AuthorityEvent, string>> = {
  passkey_removed: 'services/identity/test/features/passkeys/passkeys.test.ts',
  provider_unlinked: 'services/identity/test/features/identity-providers/connected-accounts.test.ts',
  provider_ended: 'services/identity/test/features/identity-providers/identity-providers-api.test.ts',
  issuer_changed: 'services/identity/test/features/identity-providers/identity-providers-api.test.ts',
};
const REDIRECT = 'https://app.example.org/callback';
const ADDED = 'https://app.example.org/added';
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const OTHER_SERVER = 'https://chat.example.org';
const ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

const built = await build(t, {
  config: { openRegistration: 'off', trustedIssuerNetworks: ['127.0.0.0/8'] },
});
const { base, call, form } = built;
const { privateKey, publicKey } = await generateKeyPair('ES256');
const jwks = { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', kid: 'k' }] };

/** What a capability can do now; undefined when it has ended. */
type Power = () => Promise<string | undefined>;
/** How a kind is tried at an event: the capability of the owner, or that of a member, or that in a trusted application. */
type Powers = Partial<Record<GivenCapability, Power>>;

/** The roles and scopes of a credential. */
async function permissions(token: unknown): Promise<string | undefined> {
  if (typeof token !== 'string') return undefined;
  const { status, body } = await call('GET', '/api/v1/auth/permissions', token);
  return status === 200 ? `${body.roles} ${body.scopes}` : undefined;
}
const ok = async (method: string, path: string, token: string, body?: object) => {
  const response = await call(method, path, token, body);
  if (response.status >= 300)
    throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(response.body)}`);
  return response.body;
};
const shown =
  (path: string): Power =>
  async () =>
    (await fetch(base + path, { headers: { accept: 'text/html' } })).status === 200 ? 'works' : undefined;

let count = 0;

/** An admin who has given everything that can be given, with a member and a customer of the own applications. */
async function makeScene(event: AuthorityEvent) {
  count += 1;
  const names = { owner: `owner${count}`, member: `member${count}`, customer: `customer${count}` };
  // Links to recover the account go to confirmed addresses. From one network address, 20 accounts an hour are made.
  if (event in ACCOUNT_EVENTS) {
    const signedUp = await newPerson(built, names.owner);
    await signedUp.submit(await signedUp.get(await linkTo(built, `${names.owner}@example.org`)), {});
  } else await built.createPerson(names.owner);
  const root = await built.login('admin');
  const ids = {
    owner: String((await built.logIn(names.owner)).body.user_id),
    member: await built.createPerson(names.member),
    customer: await built.createPerson(names.customer),
  };
  await ok('PUT', `/v2/users/${ids.owner}/role`, root, { role: 'admin' });
  const owner = await built.login(names.owner);
  const member = await built.login(names.member);
  const customer = await built.login(names.customer);
  const application = (draft: object) =>
    built.createApplication(owner, { name: 'App', scopes: ['read:data', 'read:users'], ...draft });
  const web = await application({
    ...{ type: 'web', redirect_uris: [REDIRECT], scopes: ['openid', 'read:data', 'read:users'] },
    identity_assertions: [{ authorization_server: OTHER_SERVER, client_id: 'app', scopes: ['notes:read'] }],
  });
  const machine = await application({ type: 'machine' });
  const keyed = await application({ type: 'machine', jwks });
  const federated = await application({ type: 'machine' });
  const upstream = await startIssuer(t);
  const { issuer } = upstream;
  const trustedIssuer = await ok('POST', '/api/v1/trusted-issuers', root, { issuer, kinds: ['workload'] });
  const offered = await application({ type: 'web', redirect_uris: [REDIRECT] });
  const trusted = await application({ type: 'machine' });
  await ok('PATCH', `/api/v1/applications/${trusted.client_id}`, owner, {
    ...{ trusted: true, scopes: ['read:data', 'read:users'] },
  });
  const pathOf = ({ client_id: id }: { client_id: string }) => `/api/v1/applications/${id}`;
  for (const it of [web, machine]) {
    await ok('POST', `${pathOf(it)}/members`, owner, { user: names.member, role: 'developer' });
    await ok('POST', `/api/v1/memberships/${it.client_id}/accept`, member);
  }
  const rules = `${pathOf(federated)}/federated-credentials`;
  const rule = await ok('POST', rules, owner, { name: 'CI', issuer, subject: 'ci' });
  const secret = await ok('POST', `${pathOf(machine)}/secrets`, member, { label: 'of the member' });
  const first = (await ok('GET', `${pathOf(machine)}/secrets`, owner)).data as {
    id: string;
    label: unknown;
  }[];
  const key = async (it: typeof web, by: string) =>
    ok('POST', `${pathOf(it)}/api-keys`, by, { name: 'key', scopes: ['read:data', 'read:users'] });
  const [ownKey, memberKey, trustedKey] = [
    await key(web, owner),
    await key(web, member),
    await key(trusted, owner),
  ];
  const issued = async (client_id: string, client_secret: unknown) =>
    (await form({ grant_type: 'client_credentials', client_id, client_secret: String(client_secret) })).body
      .access_token;
  const machineToken = (client_id: string, client_secret: unknown) => async () =>
    permissions(await issued(client_id, client_secret));
  const [token, memberToken, trustedToken] = [
    await issued(machine.client_id, machine.client_secret),
    await issued(machine.client_id, secret.client_secret),
    await issued(trusted.client_id, trusted.client_secret),
  ];
  const byKeys = async () => {
    const client_id = keyed.client_id;
    const client_assertion = await new SignJWT({ jti: crypto.randomUUID() })
      .setProtectedHeader({ alg: 'ES256', kid: 'k' })
      .setIssuer(client_id)
      .setSubject(client_id)
      .setAudience(base)
      .setExpirationTime('1m')
      .sign(privateKey);
    const asked = { grant_type: 'client_credentials', client_id, client_assertion };
    const { body } = await form({ ...asked, client_assertion_type: ASSERTION });
    // Keys that are listed would let a web application authenticate.
    const listed = (await call('GET', pathOf(keyed), root)).body.jwks == null ? undefined : 'listed';
    return (await permissions(body.access_token)) ?? listed;
  };
  const byIssuer = async () => {
    const { client_id } = federated;
    const client_assertion = await upstream.sign({ sub: 'ci', aud: base });
    const asked = { grant_type: 'client_credentials', client_id, client_assertion };
    return (await form({ ...asked, client_assertion_type: ASSERTION })).body.access_token;
  };
  const federatedToken = await byIssuer();
  const federatedPower = async () => {
    const listed = (await call('GET', rules, root)).body.data as unknown[] | undefined;
    // A rule that is listed would count again.
    const left = listed?.length && event !== 'issuer_ended' ? 'listed' : undefined;
    return (await permissions(await byIssuer())) ?? left;
  };
  const all = ['openid', 'read:data', 'read:users', 'read:all'];
  const registrationToken = await ok('POST', '/api/v1/registration-tokens', owner, {
    ...{ name: 'Token', scopes: all, uses: 50 },
  });
  const register = (token: unknown) =>
    call('POST', '/oauth2/register', String(token), { redirect_uris: [REDIRECT], scope: all.join(' ') });
  const registered = (await register(registrationToken.token)).body;
  let accessToken = String(registered.registration_access_token);
  /** The most that the client gives itself. */
  const registrationPower: Power = async () => {
    const body = { client_id: registered.client_id, redirect_uris: [REDIRECT], scope: all.join(' ') };
    const put = await call('PUT', `/oauth2/register/${registered.client_id}`, accessToken, body);
    if (put.status !== 200) return undefined;
    accessToken = String(put.body.registration_access_token);
    return String(put.body.scope);
  };
  const resource = await ok('POST', '/api/v1/resources', owner, {
    ...{ identifier: `https://api${count}.example.org/`, name: 'Notes' },
    scopes: [{ name: 'notes:read', description: 'Read one note' }],
  });
  const browsers = { owner: await signedIn(built, names.owner), customer: built.browser() };
  const ownConsent = await tokensFor(built, {
    browser: await signedIn(built, names.owner),
    username: names.owner,
  });
  const client = { ...web, redirect_uri: REDIRECT };
  const consent = await tokensFor(built, {
    ...{ browser: browsers.customer, client, username: names.customer },
    more: { scope: 'openid read:data read:users' },
  });
  const ofResource = { resource: String(resource.identifier), scope: 'openid notes:read' };
  const ours = `${base}/api`;
  const agent = await application({
    type: 'machine',
    token_exchange: [
      { resource: ofResource.resource, scopes: [] },
      { resource: ours, scopes: ['read:data'] },
    ],
  });
  const subject = await tokensFor(built, {
    ...{ browser: browsers.owner, client: { ...web, redirect_uri: REDIRECT }, username: names.owner },
    more: ofResource,
  });
  const exchanged = await form({
    ...{ grant_type: EXCHANGE, subject_token: subject.access_token, resource: ours, ...agent },
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  });
  const impersonation = await ok('POST', '/api/v1/impersonations', owner, {
    ...{ user_id: ids.customer, reason: 'A test' },
  });
  /** The clients that the owner has allowed in the browser that is signed out. */
  const allowed: { client: typeof WEB | typeof NATIVE; tokens: Tokens }[] = [];
  for (const [client, scope] of [
    [WEB, 'openid'],
    [NATIVE, 'openid offline_access'],
  ] as const) {
    const options = { browser: browsers.owner, username: names.owner, client, more: { scope } };
    allowed.push({ client, tokens: await tokensFor(built, options) });
  }
  const inBrowser = async () => {
    const names: string[] = [];
    for (const it of allowed) {
      const { status, body } = await refresh(built, it.tokens.refresh_token, it.client);
      if (status !== 200) continue;
      names.push(it.client.client_id);
      Object.assign(it.tokens, body);
    }
    return names.length === 0 ? undefined : names.join(' ');
  };
  const commandLine = await connectCommandLine(built, browsers.owner);
  const deployer = await application({ type: 'machine' });
  await ok('PUT', `${pathOf(deployer)}/deployer`, owner);
  const silently = (more: Record<string, string>) => async () => {
    const { client_id } = web;
    const asked = { client_id, redirect_uri: REDIRECT, prompt: 'none', scope: 'openid', ...more };
    const page = await browsers.customer.get(authorizeUrl(asked));
    const { code, error } = responseOf(page) as Record<string, string>;
    return code === undefined ? (error === 'consent_required' ? 'asks' : undefined) : 'code';
  };
  await signInAndAllow(
    browsers.customer,
    authorizeUrl({ client_id: web.client_id, redirect_uri: REDIRECT, ...ofResource }),
    names.customer,
  );
  const link = await ok('POST', '/api/v1/factors/set-up-links', owner, { user_id: ids.customer });
  const invited = `invited${count}@example.org`;
  const sent = await ok('POST', '/api/v1/invitations', owner, {
    ...{ email: invited, role: 'editor', application: { client_id: web.client_id, role: 'developer' } },
  });
  const invitation = new URL(await linkTo(built, invited));
  await ok('POST', `${pathOf(offered)}/transfer`, owner, { to: names.customer });

  // Of an application of somebody else, whom no event concerns.
  const joined = await built.createApplication(root, {
    name: 'Joined',
    type: 'machine',
    scopes: ['read:data'],
  });
  await ok('POST', `${pathOf(joined)}/members`, root, { user: names.owner, role: 'developer' });
  await ok('POST', `/api/v1/memberships/${joined.client_id}/accept`, owner);

  await ok('POST', `${pathOf(web)}/members`, owner, { user: names.customer, role: 'developer' });
  const role = (it: typeof web) => async () => {
    const { status } = await call('PATCH', pathOf(it), await built.login(names.member), { name: 'Renamed' });
    return status === 200 ? 'developer' : status === 403 ? 'viewer' : undefined;
  };
  const powers: Powers = {
    session: async () => (isSignIn(await browsers.owner.get('/account')) ? undefined : 'signed in'),
    login: () => permissions(owner),
    consent: async () => permissions((await refresh(built, ownConsent.refresh_token, WEB)).body.access_token),
    client_secret: machineToken(machine.client_id, machine.client_secret),
    machine_token: () => permissions(token),
    exchanged_token: () => permissions(exchanged.body.access_token),
    impersonation: () => permissions(impersonation.access_token),
    public_keys: byKeys,
    federated_credential: federatedPower,
    assertion_rules: async () => {
      const { body } = await form({
        ...{ grant_type: EXCHANGE, audience: OTHER_SERVER, ...web, subject_token: consent.id_token },
        subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
        requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
      });
      const rules = (await call('GET', pathOf(web), root)).body.identity_assertions as unknown[] | undefined;
      // Rules that are listed would count again.
      return body.access_token === undefined && !rules?.length ? undefined : `${body.scope}`;
    },
    command_line: commandLine.renew,
    async deployer() {
      const own = String(await issued(deployer.client_id, deployer.client_secret));
      return permissions((await call('POST', '/api/v1/configuration/tokens', own)).body.access_token);
    },
    api_key: () => permissions(ownKey.api_key),
    member: role(web),
    member_invitation: async () => {
      const { body } = await call('GET', '/api/v1/memberships', customer);
      const [invited] = (body.data as { client_id: string; status: string }[]).filter(
        ({ client_id }) => client_id === web.client_id,
      );
      return invited?.status;
    },
    acceptance: async () => {
      const { data } = await ok('GET', `${pathOf(joined)}/members`, root);
      const [member] = data as { username: string | null; status: string }[];
      // A moment later, the member of a deleted account is removed.
      if (member?.username == null) return undefined;
      return member.status === 'invited' ? 'asks' : member.status;
    },
    registration_token: async () => {
      const { status, body } = await register(registrationToken.token);
      return status === 201 ? String(body.scope) : undefined;
    },
    registration_access_token: registrationPower,
    set_up_link: shown(new URL(String(link.url)).pathname + new URL(String(link.url)).search),
    invitation: shown(invitation.pathname + invitation.search),
    invitation_membership: async () => {
      const { body } = await call('GET', `/api/v1/invitations/${sent.id}`, root);
      return (body.application as { role: string } | null | undefined)?.role;
    },
    transfer: async () => {
      const received = await call('GET', '/api/v1/transfers', customer);
      return (received.body.data as unknown[]).length > 0 ? 'offered' : undefined;
    },
    trust: async () => {
      const { body } = await call('GET', pathOf(trusted), root);
      return body.trusted === true ? String(body.scopes) : undefined;
    },
  };
  const memberPowers: Powers = {
    machine_token: () => permissions(memberToken),
    client_secret: machineToken(machine.client_id, secret.client_secret),
    api_key: () => permissions(memberKey.api_key),
  };
  const trustedPowers: Powers = {
    machine_token: () => permissions(trustedToken),
    client_secret: machineToken(trusted.client_id, trusted.client_secret),
    api_key: () => permissions(trustedKey.api_key),
  };
  const federatedPowers: Powers = { machine_token: () => permissions(federatedToken) };
  const customersConsent: Power = async () =>
    permissions((await refresh(built, consent.refresh_token, client)).body.access_token);
  const consents: Partial<Record<AuthorityEvent, Power>> = {
    signed_out: inBrowser,
    redirect_uri_added: silently({ redirect_uri: ADDED }),
    resource_redefined: silently(ofResource),
    resource_deleted: silently(ofResource),
  };
  const applications = [
    web,
    machine,
    agent,
    keyed,
    federated,
    offered,
    trusted,
    deployer,
    { client_id: String(registered.client_id) },
  ];
  /** The capability of a kind that an event concerns. */
  function powerOf(kind: GivenCapability, event: AuthorityEvent): Power | undefined {
    if (kind === 'consent' && consents[event] !== undefined) return consents[event];
    if (kind === 'consent' && !(event in ACCOUNT_EVENTS)) return customersConsent;
    const isFederated = event === 'rule_removed' || event === 'issuer_ended';
    const ofEvent = isFederated ? federatedPowers : event === 'trust_withdrawn' ? trustedPowers : {};
    const by = event in MEMBER_EVENTS ? memberPowers : ofEvent;
    return by[kind] ?? powers[kind];
  }
  return {
    ...{ names, ids, root, owner, browsers, web, resource, pathOf, applications, trusted, powerOf },
    ...{ rulePath: `${rules}/${rule.id}`, issuerPath: `/api/v1/trusted-issuers/${trustedIssuer.id}` },
    ...{ memberPowers, ownKey, secretId: first.find(({ label }) => label === null)?.id, machine },
  };
}
type Scene = Awaited<ReturnType<typeof makeScene>>;

const each = async (scene: Scene, act: (path: string) => Promise<unknown>) => {
  for (const it of scene.applications) await act(scene.pathOf(it));
};
const setPassword = ({ ids, owner }: Scene, next = 'another battery staple') =>
  ok('PUT', `/v2/users/${ids.owner}/password`, owner, { current_password: PASSWORD, new_password: next });

/** How each event is made to happen, through the public API and the pages. */
const EVENTS: Partial<Record<AuthorityEvent, (scene: Scene) => Promise<unknown>>> = {
  password_changed: setPassword,
  async recovered({ names }) {
    const browser = built.browser();
    await browser.submit(await browser.get('/account/forgotten-password'), { login: names.owner });
    const isNewPassword = (link: string) => link.includes('/account/new-password');
    const page = await browser.get(await linkTo(built, `${names.owner}@example.org`, isNewPassword));
    await browser.submit(page, { new_password: 'a recovered battery' });
  },
  async undone(scene) {
    await setPassword(scene);
    const browser = built.browser();
    const undo = await linkTo(built, `${scene.names.owner}@example.org`, (link) => UNDO.test(link));
    await browser.submit(await browser.get(undo), {});
  },
  signed_out: async ({ browsers }) =>
    browsers.owner.submit(await browsers.owner.get('/account'), {}, '/account/sign-out'),
  sessions_ended: ({ ids, root }) => ok('DELETE', `/api/v1/sessions?user_id=${ids.owner}`, root),
  async credentials_ended({ names, browsers }) {
    const page = await browsers.owner.get('/account/applications');
    await browsers.owner.confirm(page, 'end-credentials', { confirmation: names.owner });
  },
  everything_ended: ({ ids, root }) => ok('POST', `/api/v1/users/${ids.owner}/revocations`, root, {}),
  role_lowered: ({ ids, root }) => ok('PUT', `/v2/users/${ids.owner}/role`, root, { role: 'user' }),
  async deactivated({ ids, root }) {
    await ok('PUT', `/v2/users/${ids.owner}/status`, root, { status: 'inactive' });
    await ok('PUT', `/v2/users/${ids.owner}/status`, root, { status: 'active' });
  },
  async deleted({ ids, root }) {
    await ok('DELETE', `/v2/users/${ids.owner}`, root);
    await ok('POST', '/internal/identity/erasures', await built.serviceToken('users'), {
      user_id: ids.owner,
    });
  },
  transferred: (scene) => each(scene, (path) => ok('POST', `${path}/transfer`, scene.root, { to: 'admin' })),
  scopes_narrowed: (scene) =>
    each(scene, async (path) => {
      const { type } = await ok('GET', path, scene.owner);
      const scopes = type === 'machine' ? ['read:data'] : ['openid', 'read:data'];
      await ok('PATCH', path, scene.owner, { scopes });
    }),
  redirect_uri_added: (scene) =>
    each(scene, (path) => call('PATCH', path, scene.owner, { redirect_uris: [REDIRECT, ADDED] })),
  trust_withdrawn: ({ pathOf, trusted, root }) => ok('PATCH', pathOf(trusted), root, { trusted: false }),
  application_deleted: (scene) => each(scene, (path) => ok('DELETE', path, scene.owner)),
  member_lowered: (scene) =>
    each(scene, (path) =>
      call('POST', `${path}/members`, scene.owner, { user: scene.names.member, role: 'viewer' }),
    ),
  member_removed: (scene) =>
    each(scene, (path) => call('DELETE', `${path}/members/${scene.ids.member}`, scene.owner)),
  key_revoked: ({ pathOf, web, owner, ownKey }) =>
    ok('DELETE', `${pathOf(web)}/api-keys/${ownKey.id}`, owner),
  secret_removed: ({ pathOf, machine, owner, secretId }) =>
    ok('DELETE', `${pathOf(machine)}/secrets/${secretId}`, owner),
  rule_removed: ({ rulePath, owner }) => ok('DELETE', rulePath, owner),
  issuer_ended: ({ issuerPath, root }) => ok('PATCH', issuerPath, root, { enabled: false }),
  resource_redefined: ({ resource, owner }) =>
    ok('PATCH', `/api/v1/resources/${resource.id}`, owner, {
      scopes: [{ name: 'notes:read', description: 'Delete everything' }],
    }),
  // By another person it needs the proof of RFC 9728, which resources.test.ts has.
  async resource_deleted({ resource, owner }) {
    await ok('DELETE', `/api/v1/resources/${resource.id}`, owner);
    const { identifier, name, scopes } = resource;
    await ok('POST', '/api/v1/resources', owner, { identifier, name, scopes });
  },
};

const KINDS = Object.keys(AUTHORITY) as GivenCapability[];
for (const event of Object.keys(AUTHORITY_EVENTS) as AuthorityEvent[]) {
  const happen = EVENTS[event];
  if (happen === undefined) continue;
  t.test(AUTHORITY_EVENTS[event], async (t) => {
    const scene = await makeScene(event);
    const concerned = KINDS.filter(
      (kind) => !(kind in TESTED_ELSEWHERE) && outcomeOf(kind, event) !== undefined,
    );
    const before = new Map<GivenCapability, string | undefined>();
    for (const kind of concerned) before.set(kind, await scene.powerOf(kind, event)?.());
    await happen(scene);
    for (const kind of concerned) {
      const outcome = outcomeOf(kind, event);
      const now = await scene.powerOf(kind, event)?.();
      const about = `${AUTHORITY[kind].name}: ${outcome}, and can do ${now} after ${before.get(kind)}`;
      if (event !== 'redirect_uri_added' || kind !== 'consent')
        t.ok(before.get(kind), `${kind} works before`);
      if (outcome === 'ends') t.equal(now, undefined, about);
      if (outcome === 'ends' && event in ACCOUNT_EVENTS)
        t.equal(await scene.memberPowers[kind]?.(), undefined, `${about}, of a member`);
      if (outcome === 'stays') t.equal(now, before.get(kind), about);
      if (outcome === 'asks') t.equal(now, 'asks', about);
      if (outcome === 'bounded') t.ok(now !== undefined && now !== before.get(kind), about);
    }
  });
}

t.test('what a person gave does not grow with a promotion', async (t) => {
  const id = await built.createPerson('promoted');
  const token = await built.login('promoted');
  const draft = { name: 'App', type: 'machine', scopes: ['read:data', 'read:users'] };
  const { client_id, client_secret } = await built.createApplication(token, draft);
  const key = { name: 'key', scopes: ['read:data', 'read:users'] };
  const { api_key } = await ok('POST', `/api/v1/applications/${client_id}/api-keys`, token, key);
  const tokens = { name: 'Token', scopes: ['read:data', 'read:users'], uses: 9, machines: true };
  const initial = await ok('POST', '/api/v1/registration-tokens', token, tokens);
  const registered = async () => {
    const client = {
      client_name: 'Machine',
      grant_types: ['client_credentials'],
      scope: 'read:data read:users',
    };
    const { body } = await call('POST', '/oauth2/register', String(initial.token), client);
    const { client_id, client_secret } = body as Record<string, string>;
    return (
      await form({ grant_type: 'client_credentials', client_id, client_secret } as Record<string, string>)
    ).body.access_token;
  };
  const power = async () => [
    await permissions(await registered()),
    await permissions(
      (await form({ grant_type: 'client_credentials', client_id, client_secret: String(client_secret) })).body
        .access_token,
    ),
    await permissions(api_key),
  ];
  const before = await power();
  t.match(before[0], /^user /);
  await ok('PUT', `/v2/users/${id}/role`, await built.login('admin'), { role: 'admin' });
  t.same(await power(), before);
});

t.test('every cell has a test, or names the one that it has elsewhere', async (t) => {
  const files = { ...TESTED_ELSEWHERE, ...EVENTS_TESTED_ELSEWHERE };
  for (const file of Object.values(files)) t.ok(existsSync(file), file);
  const untested = (Object.keys(AUTHORITY_EVENTS) as AuthorityEvent[]).filter(
    (it) => EVENTS[it] === undefined && EVENTS_TESTED_ELSEWHERE[it] === undefined,
  );
  const kinds = KINDS.filter((kind) => untested.some((event) => outcomeOf(kind, event) !== undefined));
  t.same(
    kinds.filter((kind) => !(kind in TESTED_ELSEWHERE)),
    [],
  );
  for (const kind of KINDS) {
    const { cells } = AUTHORITY[kind];
    const listed = Object.values(cells).flatMap((reasons) => Object.values(reasons).flat());
    t.equal(new Set(listed).size, listed.length, `${kind}: one outcome for each event`);
  }
});

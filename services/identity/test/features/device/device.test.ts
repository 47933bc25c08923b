import { hash } from 'node:crypto';
import { createFormBrowser, type Page } from '@gatehouse/testing/form-browser';
import { decodeJwt } from 'jose';
import * as client from 'openid-client';
import t from 'tap';
import { DEVICE_CODE_GRANT } from '../../../src/core/applications/application.ts';
import { build, NATIVE, PASSWORD, WEB } from '../../build.ts';
import { alertOf, heading, signedIn } from '../../pages.ts';
import { refresh, type Tokens, tokensFor } from '../../tokens.ts';

const built = await build(t, { checkResponses: true });
const { base } = built;
const admin = await built.login('admin');
const draft = { name: 'Television', type: 'native', scopes: ['openid', 'read:profile', 'read:data'] };
const { client_id } = await built.createApplication(admin, { ...draft, device_flow: true });
const config = await client.discovery(new URL(base), client_id, undefined, client.None(), {
  execute: [client.allowInsecureRequests],
});

type Codes = { device_code: string; user_code: string; verification_uri_complete: string };

const deviceCodes = async () => (await built.database()).collection('oidc_device_codes');

async function ask(more: Record<string, string> = {}, headers: Record<string, string> = {}): Promise<Codes> {
  const agent = { 'user-agent': 'Television/1.0', ...headers };
  const { status, body } = await built.form({ client_id, ...more }, agent, '/oauth2/device_authorization');
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body as Codes;
}

/** Asks for the tokens, as if the device had waited for as long as it has to. */
async function poll(device_code: string, by: Record<string, string> = { client_id }) {
  await (await deviceCodes()).updateMany({}, { $unset: { polled_at: 1 } });
  return pollAtOnce(device_code, by);
}
const pollAtOnce = (device_code: string, by: Record<string, string> = { client_id }) =>
  built.form({ grant_type: DEVICE_CODE_GRANT, device_code, ...by });

/** Enters the code of a device, and confirms that it is the right one. */
async function enter(visitor: ReturnType<typeof built.browser>, user_code: string): Promise<Page> {
  const verify = await visitor.submit(await visitor.get('/device'), { user_code });
  return visitor.submit(verify, {});
}

async function connect(visitor: ReturnType<typeof built.browser>, codes: Codes): Promise<Tokens> {
  let page = await enter(visitor, codes.user_code);
  if (page.url.pathname.startsWith('/sign-in/')) {
    page = await visitor.submit(page, { username: 'ann', password: PASSWORD });
  }
  const connected = await visitor.submit(page, { decision: 'allow' });
  if (heading(connected) !== 'Your device is connected') throw new Error(connected.html);
  return (await poll(codes.device_code)).body as Tokens;
}

/** As a Japanese keyboard may type it. */
const fullWidth = (text: string) =>
  text.replaceAll(/[!-~]/g, (sign) => String.fromCharCode(sign.charCodeAt(0) + 0xfee0));

t.test('a device is connected by somebody who signs in elsewhere, as openid-client has it', async (t) => {
  const response = await client.initiateDeviceAuthorization(config, { scope: 'openid read:data' });
  t.match(response.user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
  t.equal(response.expires_in, 600);
  t.match((await poll(response.device_code)).body, { error: 'authorization_pending' });
  const tokens = client.pollDeviceAuthorizationGrant(config, { ...response, interval: 1 });

  const visitor = built.browser();
  const linked = await visitor.get(response.verification_uri_complete ?? '');
  t.equal(heading(linked), 'Connect a device', 'the code in the link is shown, and not used');
  t.match(linked.html, `value="${response.user_code}"`);
  const verify = await visitor.submit(linked, {
    user_code: fullWidth(response.user_code.toLowerCase().replace('-', ' ')),
  });
  t.equal(heading(verify), 'Is this your device?');
  for (const page of [verify]) {
    t.match(page.html, /Television[\s\S]*an app on another device/);
    t.match(
      page.html,
      /less than a minute ago[\s\S]*127\.0\.0\.1[\s\S]*the same network address as this browser/,
    );
    t.match(page.html, /Did somebody send you this code/);
  }
  t.match(verify.html, response.user_code);
  const signIn = await visitor.submit(verify, {});
  t.ok(signIn.url.pathname.startsWith('/sign-in/'));
  const consent = await visitor.submit(signIn, { username: 'ann', password: PASSWORD });
  t.match(consent.html, /127\.0\.0\.1[\s\S]*Did somebody send you this code/);
  t.notMatch(consent.html, 'Use another account');
  t.equal(heading(await visitor.submit(consent, { decision: 'allow' })), 'Your device is connected');

  const { access_token, refresh_token = '', id_token = '' } = await tokens;
  t.match(decodeJwt(id_token), { aud: client_id, sub: built.people.ann.id, amr: ['pwd'] });
  t.match(decodeJwt(access_token), { client_id, scope: 'openid read:data', acr: decodeJwt(id_token).acr });
  t.equal((await refresh(built, refresh_token, { client_id })).status, 200);
  const audit = `/api/v1/audit?filter[action]=device.connected&filter[subject]=${built.people.ann.id}`;
  const { body } = await built.call('GET', audit, admin);
  t.match((body.data as object[])[0], { client: client_id, details: { address: '127.0.0.1' } });
});

t.test('a device that asks too often has to wait longer each time', async (t) => {
  const { device_code } = await ask();
  const errors = [];
  for (let i = 0; i < 3; i += 1) errors.push((await pollAtOnce(device_code)).body.error);
  t.strictSame(errors, ['authorization_pending', 'slow_down', 'slow_down']);
  const codes = await deviceCodes();
  const _id = hash('sha256', device_code, 'base64url') as never;
  t.match(await codes.findOne({ _id }), { poll_interval: 15 });
  for (const [ago, error] of [
    [13, 'slow_down'],
    [16, 'slow_down'],
    [25, 'authorization_pending'],
  ] as const) {
    await codes.updateOne({ _id }, { $set: { polled_at: new Date(Date.now() - ago * 1000) } });
    t.match((await pollAtOnce(device_code)).body, { error }, `${ago} s`);
  }
  const parallel = await Promise.all(
    [1, 2, 3, 4].map(async () => (await pollAtOnce(device_code)).body.error),
  );
  t.ok(parallel.every((error) => error === 'slow_down'));
});

t.test('what is refused', async (t) => {
  const visitor = built.browser();
  for (const user_code of ['', 'BCDF-GHJK', 'ÄÖÜ', `sha256:${hash('sha256', 'x', 'base64url')}`]) {
    const page = await visitor.submit(await visitor.get('/device'), { user_code });
    t.equal(page.status, 400, user_code);
    t.match(alertOf(page), user_code === '' ? /Enter the code/ : /That code is not right/);
  }
  const refusals: [string, (page: Page, codes: Codes) => Promise<Page>][] = [
    ['at the code', async (page) => visitor.submit(page, { abort: 'yes' })],
    [
      'at the consent',
      async (page) => {
        const next = await visitor.submit(page, {});
        const consent = next.url.pathname.startsWith('/sign-in/')
          ? await visitor.submit(next, { username: 'ann', password: PASSWORD })
          : next;
        return visitor.submit(consent, { decision: 'deny' });
      },
    ],
  ];
  for (const [where, refuse] of refusals) {
    const codes = await ask();
    const page = await visitor.submit(await visitor.get('/device'), { user_code: codes.user_code });
    t.equal(heading(await refuse(page, codes)), 'The device was not connected', where);
    t.match((await poll(codes.device_code)).body, { error: 'access_denied' }, where);
    const again = await visitor.submit(await visitor.get('/device'), { user_code: codes.user_code });
    t.match(alertOf(again), /entered before/);
  }
  const expired = await ask();
  const past = { $set: { expires_at: new Date(Date.now() + 200_000) } };
  await (await deviceCodes()).updateOne({ user_code: expired.user_code.replace('-', '') }, past);
  t.match((await poll(expired.device_code)).body, { error: 'expired_token' });
  const late = await visitor.submit(await visitor.get('/device'), { user_code: expired.user_code });
  t.match(alertOf(late), /That code is not right/);
  const big = await built.form(
    { client_id, acr_values: 'x'.repeat(7000) },
    {},
    '/oauth2/device_authorization',
  );
  t.equal(big.status, 400);
  const without = await built.form({ client_id: NATIVE.client_id }, {}, '/oauth2/device_authorization');
  t.match(without, { status: 400, body: { error: 'unauthorized_client' } });
  for (const [draft, field] of [
    [{ type: 'spa', redirect_uris: ['https://a.example/'] }, 'device_flow'],
    [{ type: 'machine' }, 'device_flow'],
    [{ type: 'native', device_flow: false }, 'redirect_uris'],
  ] as const) {
    const all = { name: 'X', scopes: ['read:data'], device_flow: true, ...draft };
    const { status, body } = await built.call('POST', '/api/v1/applications', admin, all);
    t.equal(status, 400);
    t.match(JSON.stringify(body), `"${field}"`);
  }
});

t.test('the codes of one device are of no use to others', async (t) => {
  const codes = await ask();
  const stored = hash('sha256', codes.device_code, 'base64url');
  t.match((await poll(`sha256:${stored}`)).body, { error: 'invalid_grant' }, 'the hash from the database');
  const { redirect_uri: _, ...web } = WEB;
  t.match((await poll(codes.device_code, web)).body, { error: 'unauthorized_client' });
  const victim = await signedIn(built, 'ann');
  const attacker = createFormBrowser(base);
  const form = await attacker.get('/device');
  const forged = { ...form, html: form.html };
  t.equal(heading(await victim.submit(forged, { user_code: codes.user_code })), 'This page has expired');
  const verify = await attacker.submit(form, { user_code: codes.user_code });
  t.equal(
    heading(await victim.submit(verify, {})),
    'This page has expired',
    'the code was not confirmed here',
  );
  t.match((await poll(codes.device_code)).body, { error: 'authorization_pending' });
  const tokens = await connect(victim, codes);
  t.equal((await pollAtOnce(codes.device_code)).body.error, 'invalid_grant', 'the code works once');
  t.equal((await refresh(built, tokens.refresh_token, { client_id })).status, 400, 'its grant has ended');
});

t.test('each device is asked for, and has a grant of its own', async (t) => {
  const both = { name: 'Both', type: 'native', scopes: ['openid'], redirect_uris: [NATIVE.redirect_uri] };
  const app = await built.createApplication(admin, { ...both, device_flow: true });
  const visitor = built.browser();
  const client = { client_id: app.client_id, redirect_uri: NATIVE.redirect_uri };
  const web = await tokensFor(built, { browser: visitor, client, more: { scope: 'openid' } });
  const devices = [];
  for (let i = 0; i < 2; i += 1) {
    const codes = await ask({ client_id: app.client_id });
    const consent = await enter(visitor, codes.user_code);
    t.ok(consent.url.pathname.startsWith('/consent/'));
    await visitor.submit(consent, { decision: 'allow' });
    devices.push((await poll(codes.device_code, { client_id: app.client_id })).body as Tokens);
  }
  const grants = [web, ...devices].map(({ access_token }) => decodeJwt(access_token).gid);
  t.equal(new Set(grants).size, 3);
  const again = await tokensFor(built, { browser: visitor, client, more: { scope: 'openid' } });
  t.equal(decodeJwt(again.access_token).gid, grants[0], 'the session keeps the grant of the application');
  await visitor.submit(await visitor.get('/account'), {}, 'sign-out');
  const refreshed = async ({ refresh_token }: Tokens) =>
    (await refresh(built, refresh_token, { client_id: app.client_id })).status;
  t.strictSame([await refreshed(again), await refreshed(devices[0] as Tokens)], [400, 200]);
});

t.test('a new password ends devices, also one that has not got its tokens', async (t) => {
  const [first, second] = [await ask(), await ask()];
  await built.createPerson('dora');
  const visitor = await signedIn(built, 'dora');
  const tokens = await connect(visitor, first);
  await visitor.submit(await enter(visitor, second.user_code), { decision: 'allow' });
  const fields = { current_password: PASSWORD, new_password: `${PASSWORD} two` };
  await visitor.submit(await visitor.get('/account/password'), fields, 'name="new_password"');
  t.equal((await refresh(built, tokens.refresh_token, { client_id })).status, 400);
  t.match((await poll(second.device_code)).body, { error: 'invalid_grant' });
});

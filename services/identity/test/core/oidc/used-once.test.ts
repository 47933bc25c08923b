import { randomUUID } from 'node:crypto';
import type { FormBrowser, Page } from '@gatehouse/testing/form-browser';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import t from 'tap';
import { build, codeFor, MACHINE, PASSWORD, WEB } from '../../build.ts';
import { send } from '../../pages.ts';
import { dpopKey, keyOf } from '../../tokens.ts';

const built = await build(t, { checkResponses: true });
const database = await built.database();
const { base, form } = built;
const TOKEN_URL = `${base}/oauth2/token`;
const AT_ONCE = 8;

const times = <T>(action: () => Promise<T>) => Promise.all(Array.from({ length: AT_ONCE }, action));
const succeeded = (responses: readonly { status: number }[]) =>
  responses.filter(({ status }) => status < 300).length;

t.test('a client assertion (RFC 7523 §3)', async (t) => {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const { client_id: id } = await built.createApplication(await built.login(), {
    name: 'Signs',
    type: 'machine',
    scopes: ['read:users'],
    jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }] },
  });
  const now = Math.floor(Date.now() / 1000);
  for (let round = 0; round < 3; round += 1) {
    const claims = { iss: id, sub: id, aud: TOKEN_URL, jti: randomUUID(), iat: now, exp: now + 60 };
    const client_assertion = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .sign(privateKey);
    const request = {
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion,
    };
    const responses = await times(() => form(request));
    t.equal(succeeded(responses), 1);
    t.match(
      responses.find(({ status }) => status !== 200),
      { status: 401, body: { error: 'invalid_client' } },
    );
  }
});

t.test('a DPoP proof (RFC 9449 §11.1)', async (t) => {
  const key = await dpopKey();
  const request = { grant_type: 'client_credentials', ...MACHINE };
  for (let round = 0; round < 3; round += 1) {
    const dpop = await key.proof('POST', TOKEN_URL);
    t.equal(succeeded(await times(() => form(request, { dpop }))), 1);
    t.equal((await form(request, { dpop })).status, 400);
  }
  const [last] = await database
    .collection('oidc_replay_detections')
    .find()
    .sort({ expires_at: -1 })
    .limit(1)
    .toArray();
  const kept = Number(last?.expires_at) - Date.now();
  t.ok(kept > 590_000, `${kept} ms: a proof may be made 300 s ahead, and be used for 300 s after`);
});

t.test('a pushed authorization request (RFC 9126 §4)', async (t) => {
  const pushed = database.collection<{ _id: string; expires_at: Date }>('oidc_pushed_requests');
  const push = async () => {
    const parameters = { response_type: 'code', scope: 'openid', ...WEB };
    const { body } = await form(parameters, {}, '/oauth2/par');
    const uri = String(body.request_uri);
    const query = new URLSearchParams({ client_id: WEB.client_id, request_uri: uri });
    return { url: `/oauth2/authorize?${query}`, _id: keyOf(uri.split(':').at(-1) ?? '') };
  };
  /** As if so many seconds had passed since it was pushed. */
  async function pass(_id: string, seconds: number): Promise<void> {
    const document = await pushed.findOne({ _id });
    const expires_at = new Date(Number(document?.expires_at) - seconds * 1000);
    await pushed.updateOne({ _id }, { $set: { expires_at } });
  }
  /** Signs in on the page, allows, and says whether the application got a code. */
  async function getsCode(browser: FormBrowser, page: Page): Promise<boolean> {
    let next = await browser.submit(page, { username: 'ann', password: PASSWORD });
    if (next.url.pathname.startsWith('/consent/')) next = await browser.submit(next, { decision: 'allow' });
    return next.url.searchParams.has('code');
  }

  await t.test('at once', async (t) => {
    const browser = built.browser();
    await codeFor(browser, { scope: 'openid' });
    for (let round = 0; round < 3; round += 1) {
      const { url } = await push();
      const responses = await times(() => send(built, 'GET', url, { browser }));
      const codes = responses.filter(({ headers }) => /[?&]code=/.test(headers.get('location') ?? ''));
      t.equal(codes.length, 1);
    }
  });

  await t.test('by people who take longer than it lives', async (t) => {
    const { url, _id } = await push();
    const [first, second] = [built.browser(), built.browser()];
    const [ofFirst, ofSecond] = [await first.get(url), await second.get(url)];
    await pass(_id, 120);
    // As the sweeper does.
    await pushed.deleteOne({ _id });
    t.equal(await getsCode(first, ofFirst), true, 'the first gets a code');
    t.equal(await getsCode(second, ofSecond), false, 'and nobody else');
    const again = await built.browser().get(url);
    t.equal(again.url.searchParams.get('error'), 'invalid_request_uri', 'nor can it be opened again');
  });

  await t.test('by somebody who takes longer than anybody may', async (t) => {
    const { url } = await push();
    const browser = built.browser();
    const page = await browser.get(url);
    const past = { $set: { expires_at: new Date() } };
    await database.collection('oidc_interactions').updateMany({}, past);
    t.equal(await getsCode(browser, page), false);
  });
});

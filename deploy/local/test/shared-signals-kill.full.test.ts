import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { createFormBrowser } from '@gatehouse/testing/form-browser';
import { jsonRequest, loginToken } from '@gatehouse/testing/json-request';
import { listen } from '@gatehouse/testing/listen';
import { freePort, until } from '@gatehouse/testing/processes';
import { repetitions } from '@gatehouse/testing/repetitions';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import t from 'tap';
import { createUser, type Gatehouse, startGatehouse, temporaryDir, tokenOf } from './gatehouse.ts';

const EVENTS = 'https://schemas.openid.net/secevent';
const WANTED = ['caep/event-type/session-revoked', 'risc/event-type/account-disabled'];
const REDIRECT_URI = 'https://app.example.org/callback';
const PEOPLE = 4;
t.setTimeout(300_000);

t.test('kill -9 directly after access has ended: the application hears of it', async (t) => {
  const [dataDir, PORT] = [temporaryDir(t), String(await freePort())];
  const issuer = `http://localhost:${PORT}`;
  const bodies: string[] = [];
  const receiver = createServer(async (request, response) => {
    bodies.push(await text(request));
    response.writeHead(202).end();
  });
  const endpoint_url = `http://127.0.0.1:${await listen(t, receiver)}/`;
  const start = () => startGatehouse(t, dataDir, { PORT, PUBLIC_URL: issuer });
  let client = '';

  async function subscribe({ base, demo }: Gatehouse): Promise<void> {
    const token = await loginToken(base, demo.admin);
    const draft = { name: 'App', type: 'web', scopes: ['openid'], redirect_uris: [REDIRECT_URI] };
    const app = await jsonRequest('POST', `${base}/api/v1/applications`, { token, body: draft });
    client = String(app.body.client_id);
    const grant = { grant_type: 'client_credentials', scope: 'ssf.manage' };
    const body = { ...grant, client_id: client, client_secret: app.body.client_secret };
    const issued = await jsonRequest<{ access_token: string }>('POST', `${base}/oauth/token`, { body });
    const { status } = await jsonRequest('POST', `${base}/api/v1/ssf/streams`, {
      token: issued.body.access_token,
      body: {
        delivery: { method: 'urn:ietf:rfc:8935', endpoint_url },
        events_requested: WANTED.map((type) => `${EVENTS}/${type}`),
      },
    });
    t.equal(status, 201);
  }

  async function signIn(username: string): Promise<void> {
    const browser = createFormBrowser(issuer);
    const request = { client_id: client, response_type: 'code', scope: 'openid', redirect_uri: REDIRECT_URI };
    const first = await browser.get(`/oauth2/authorize?${new URLSearchParams(request)}`);
    const consent = await browser.submit(first, { username, password: 'correct horse' });
    const last = await browser.submit(consent, { decision: 'allow' });
    t.ok(last.url.searchParams.has('code'), username);
  }

  const acknowledged: string[] = [];
  for (let round = 0; round < repetitions(15); round += 1) {
    const gatehouse = await start();
    const { base } = gatehouse;
    if (round === 0) await subscribe(gatehouse);
    const token = await tokenOf(gatehouse);
    const ids: string[] = [];
    for (let i = 0; i < PEOPLE; i += 1) {
      const username = `round${round}person${i}`;
      ids.push((await createUser(base, token, username)).id);
      await signIn(username);
    }
    const ends = ids.map(async (id) => {
      const body = { status: 'inactive' };
      const { status } = await jsonRequest('PUT', `${base}/v1/users/${id}/status`, { token, body });
      if (status !== 204) throw new Error(`${status}`);
      acknowledged.push(id);
    });
    await Promise.any(ends);
    await gatehouse.end('SIGKILL');
    await Promise.allSettled(ends);
  }
  t.ok(acknowledged.length >= repetitions(15), `${acknowledged.length} were acknowledged`);

  await start();
  const keys = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`));
  const heard = new Set<string>();
  async function missing(): Promise<string[]> {
    for (const body of bodies.splice(0)) {
      const { payload } = await jwtVerify(body, keys, { issuer, audience: client, typ: 'secevent+jwt' });
      const { sub } = payload.sub_id as { sub: string };
      for (const type of Object.keys(payload.events as object)) heard.add(`${sub} ${type}`);
    }
    return acknowledged
      .flatMap((id) => WANTED.map((type) => `${id} ${EVENTS}/${type}`))
      .filter((it) => !heard.has(it));
  }
  await until(async () => (await missing()).length === 0, 60_000).catch(() => {});
  t.same(await missing(), []);
});

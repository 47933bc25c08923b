import { formsOf } from '@gatehouse/testing/form-browser';
import { sendSlowly } from '@gatehouse/testing/slow-request';
import t from 'tap';
import { authorizeUrl, build, PASSWORD, signInAndAllow } from './build.ts';

const built = await build(t);
const { base, call, login } = built;
const FORM = 'application/x-www-form-urlencoded';

const root = await login('admin');

async function newPerson(username: string, role: string): Promise<{ id: string; token: string }> {
  return { id: await built.createPerson(username, role), token: await login(username) };
}

t.test('who is demoted, or signs out, while a body is on its way writes nothing', async (t) => {
  const draft = { username: 'late', email: 'late@example.org', password: PASSWORD };
  const machine = { name: 'Late', type: 'machine', scopes: ['write:users'], trusted: true };
  const demote = (id: string) => call('PUT', `/v1/users/${id}/role`, root, { role: 'user' });
  const signOut = (_id: string, token: string) => call('POST', '/api/v1/auth/logout', token);
  for (const [index, [path, body, end]] of (
    [
      ['/v1/users', draft, demote],
      ['/v1/users', draft, signOut],
      ['/api/v1/applications', machine, demote],
      ['/api/v1/applications', machine, signOut],
    ] as const
  ).entries()) {
    const { id, token } = await newPerson(`admin-${index}`, 'admin');
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const request = { headers, body: JSON.stringify(body) };
    const response = await sendSlowly(base + path, request, () => end(id, token));
    t.equal(response.status, 401, `${path} ${end.name}`);
  }
  t.equal((await call('POST', '/v1/users', root, draft)).status, 201, 'there was no such person');
  const { body } = await call('GET', '/api/v1/applications?limit=100', root);
  t.notMatch(JSON.stringify(body), '"Late"');
});

t.test('a form of a session that ends while it is on its way changes nothing', async (t) => {
  const [here, elsewhere] = [built.browser(), built.browser()];
  const page = await signInAndAllow(here, '/account');
  await signInAndAllow(elsewhere, '/account');
  const form = formsOf(page.html).find(({ html }) => html.includes('name="first_name"'));
  const send = (name: string, meanwhile: () => Promise<unknown>) =>
    sendSlowly(
      base + form?.action,
      {
        headers: {
          'content-type': FORM,
          cookie: [...here.cookies('/account')].map(([key, value]) => `${key}=${value}`).join('; '),
        },
        body: new URLSearchParams({ ...form?.fields, first_name: name }).toString(),
      },
      meanwhile,
    );
  const firstName = async () =>
    /id="first_name"[^>]*value="([^"]*)"/.exec((await elsewhere.get('/account')).html)?.[1];

  t.match(await send('Early', async () => {}), { status: 303, headers: { location: '/account?done=saved' } });
  t.equal(await firstName(), 'Early');
  const sessions = await elsewhere.get('/account/sessions');
  const endOthers = () => elsewhere.confirm(sessions, 'end-others');
  t.equal((await send('Late', endOthers)).status, 403);
  t.equal(await firstName(), 'Early');
});

t.test('consent of a sign-in that was finished elsewhere grants nothing', async (t) => {
  const visitor = built.browser();
  const page = await visitor.submit(await visitor.get(authorizeUrl()), {
    username: 'ann',
    password: PASSWORD,
  });
  t.match(page.url.pathname, '/consent/');
  const [form] = formsOf(page.html);
  const request = {
    headers: {
      'content-type': FORM,
      cookie: [...visitor.cookies(page.url.pathname)].map(([key, value]) => `${key}=${value}`).join('; '),
    },
    body: new URLSearchParams({ ...form?.fields, decision: 'allow' }).toString(),
  };
  const response = await sendSlowly(base + form?.action, request, () =>
    visitor.submit(page, { decision: 'deny' }),
  );
  t.equal(response.status, 400);
  t.match(response.text, 'This sign-in has expired');
});

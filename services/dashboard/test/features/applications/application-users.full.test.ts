import t from 'tap';
import { build, heading, textOf } from '../../build.ts';

const built = await build(t);
const { browser: ann } = await built.signedIn('ann');
const { browser: user } = await built.signedIn('editor');
const redirect_uris = 'https://shop.example.org/callback';

t.test('an owner sees who uses an application, and ends the access of it to an account', async (t) => {
  const form = await ann.get('/dashboard/applications/new?type=spa');
  const fields = { name: 'Shop', redirect_uris, scopes: 'openid' };
  const made = await ann.submit(form, fields, 'name="name"');
  const path = made.url.pathname;
  const users = await ann.get(`${path}/users`);
  t.match(textOf(users), /Nobody uses this application yet/);

  const query = new URLSearchParams({
    ...{
      client_id: path.split('/')[3] ?? '',
      redirect_uri: redirect_uris,
      response_type: 'code',
      scope: 'openid',
    },
    ...{ code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' },
  });
  const consent = await user.get(`/oauth2/authorize?${query}`);
  const back = await user.submit(consent, { decision: 'allow' });
  t.match(back.url.href, /^https:\/\/shop\.example\.org\/callback\?code=/);

  const listed = await ann.get(`${path}/users`);
  t.match(textOf(listed), new RegExp(`${built.people.editor.id} openid`));
  t.notMatch(textOf(listed), /editor@example\.org/, 'the person has not allowed that');
  const client = path.split('/')[3] ?? '';
  const member = { user: 'editor', role: 'viewer' };
  await built.call('POST', `/api/v1/applications/${client}/members`, 'ann', member);
  await built.call('POST', `/api/v1/memberships/${client}/accept`, 'editor');
  const seen = await user.get(`${path}/users`);
  t.match(textOf(seen), new RegExp(`${built.people.editor.id} openid`));
  t.notMatch(seen.html, '/end"', 'the API refuses it to a viewer');
  await built.call('DELETE', `/api/v1/applications/${client}/members/${built.people.editor.id}`, 'ann');

  const question = await ann.get(/href="([^"]*\/users\/[^"]*\/end)"/.exec(listed.html)?.[1] ?? '');
  t.match(heading(question), /^End the access of/);
  const ended = await ann.submit(question, {}, '/end"');
  t.match(textOf(ended), /The access is ended.*Nobody uses this application yet/);
  t.equal((await user.get(`${path}/users`)).status, 404, 'a stranger');
});

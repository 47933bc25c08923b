import t from 'tap';
import { authorizeUrl, build, codeFor, PASSWORD, signInAndAllow } from '../../build.ts';
import { pkce, refresh, statusesOf, tokensFor } from '../../tokens.ts';

const REDIRECT_URI = 'https://notes.example.org/callback';
const SCOPE = 'openid read:users write:users';
const built = await build(t);
const { login, people } = built;

t.test('permissions that people gave an application end when it gets another owner', async (t) => {
  const [ann, admin] = [await login('ann'), await login('admin')];
  const draft = { name: 'Notes', type: 'spa', redirect_uris: [REDIRECT_URI], scopes: SCOPE.split(' ') };
  const { body } = await built.call('POST', '/api/v1/applications', ann, draft);
  const client = { client_id: String(body.client_id), redirect_uri: REDIRECT_URI };
  const more = { ...client, scope: SCOPE };
  const before = await tokensFor(built, { client, username: 'admin', more });

  const { code_verifier, challenge } = pkce();
  const code = await codeFor(built.browser(), { ...more, ...challenge }, 'admin');
  const signingIn = built.browser();
  const signInPage = await signingIn.get(authorizeUrl({ ...more, ...pkce().challenge }));
  const consenting = built.browser();
  const asked = await consenting.get(authorizeUrl({ ...more, ...pkce().challenge }));
  const consentPage = await consenting.submit(asked, { username: 'ann', password: PASSWORD });
  t.match(consentPage.url.pathname, /^\/consent\//);
  const returning = built.browser();
  await signInAndAllow(returning, authorizeUrl({ ...more, ...pkce().challenge }), 'ann');
  const pushed = await built.form({ ...more, response_type: 'code', ...pkce().challenge }, {}, '/oauth2/par');

  const path = `/api/v1/applications/${client.client_id}/transfer`;
  t.match(await built.call('POST', path, admin, { to: 'admin' }), {
    status: 200,
    body: { owner: people.admin.id },
  });

  t.same(await statusesOf(built, before.access_token), [401, 401], 'an access token');
  t.match(await refresh(built, before.refresh_token, client), {
    status: 400,
    body: { error: 'invalid_grant' },
  });
  const exchanged = await built.form({
    grant_type: 'authorization_code',
    code,
    code_verifier,
    ...client,
  });
  t.match(exchanged, { status: 400, body: { error: 'invalid_grant' } }, 'a code');
  const late = await signingIn.submit(signInPage, { username: 'ann', password: PASSWORD });
  t.equal(late.status, 400, 'a sign-in that was under way');
  const allowed = await consenting.submit(consentPage, { decision: 'allow' });
  t.equal(allowed.status, 400, 'a consent that was being asked for');
  const again = await returning.get(authorizeUrl({ ...more, ...pkce().challenge }));
  t.match(again.url.pathname, /^\/consent\//, 'who has allowed it is asked again');
  const requestUri = String(pushed.body.request_uri);
  const ofPushed = await returning.get(
    `/oauth2/authorize?${new URLSearchParams({ client_id: client.client_id, request_uri: requestUri })}`,
  );
  t.equal(ofPushed.url.searchParams.get('error'), 'invalid_request_uri', 'a pushed request');

  const after = await tokensFor(built, { client, username: 'admin', more });
  t.same(await statusesOf(built, after.access_token), [200, 200], 'what is allowed from now on');
  t.equal((await refresh(built, after.refresh_token, client)).status, 200);
});

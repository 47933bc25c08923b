import t from 'tap';
import { build, MACHINE, OTHER, SPA, WEB } from '../build.ts';
import { refresh, tokensFor } from './actions.ts';

const built = await build(t, { checkAnswers: true });
const { base, form, post, people } = built;
const { redirect_uri: _, ...web } = WEB;
const browser = built.browser();

async function introspect(token: string, client: Record<string, string> = web, more = {}) {
  const body = { token, ...client, ...more };
  const answers = await Promise.all([
    form(body, {}, '/oauth2/introspect'),
    post('/oauth2/introspect', JSON.stringify(body), { 'content-type': 'application/json' }),
  ]);
  t.same(answers[0].body, answers[1].body, 'the same as a form and as JSON');
  t.equal(answers[0].headers.get('cache-control'), 'no-store');
  return answers[0];
}

t.test('one’s own tokens (RFC 7662 §2.2)', async (t) => {
  const { access_token, refresh_token } = await tokensFor(built, { browser });
  const access = await introspect(access_token);
  t.match(access, {
    status: 200,
    body: {
      active: true,
      client_id: WEB.client_id,
      sub: people.ann.id,
      iss: base,
      aud: `${base}/api`,
      token_type: 'Bearer',
      jti: String,
      exp: Number,
      iat: Number,
    },
  });
  t.match(access.body.scope, /openid/);
  t.equal(Number(access.body.exp) - Number(access.body.iat), 3600);
  for (const hint of ['access_token', 'refresh_token', 'nonsense']) {
    t.match((await introspect(access_token, web, { token_type_hint: hint })).body, { active: true }, hint);
  }
  t.match((await introspect(refresh_token)).body, {
    active: true,
    client_id: WEB.client_id,
    sub: people.ann.id,
  });
  const machine = String((await form({ grant_type: 'client_credentials', ...MACHINE })).body.access_token);
  t.match((await introspect(machine, MACHINE)).body, {
    active: true,
    sub: MACHINE.client_id,
    scope: 'read:users write:users',
  });
});

t.test('what is not active: nothing is said but that', async (t) => {
  const { access_token, refresh_token } = await tokensFor(built, { browser });
  const spa = await tokensFor(built, { browser, client: SPA });
  const inactive = { active: false };
  for (const [name, answer] of [
    ['of another client', introspect(access_token, OTHER)],
    ['a refresh token of another', introspect(refresh_token, OTHER)],
    ['of a public client, by another', introspect(spa.access_token)],
    ['of a public client, by itself', introspect(spa.access_token, { client_id: SPA.client_id })],
    ['nonsense', introspect('nonsense')],
    ['a JWT of a stranger', introspect(`${access_token.slice(0, -5)}AAAAA`)],
    ['an ID token', introspect(spa.id_token)],
  ] as const) {
    const { status, body } = await answer;
    t.equal(status, 200, name);
    t.same(body, inactive, name);
  }
  await form({ token: access_token, ...web }, {}, '/oauth2/revoke');
  t.same((await introspect(access_token)).body, inactive, 'revoked');
  t.match((await introspect(refresh_token)).body, { active: true });
  const { body } = await refresh(built, refresh_token);
  await form({ token: refresh_token, ...web }, {}, '/oauth2/revoke');
  t.same((await introspect(refresh_token)).body, inactive, 'a revoked refresh token');
  t.same((await introspect(String(body.access_token))).body, inactive, 'and what came of it');
  for (const [name, parameters, status, error] of [
    ['no client', { token: 'x' }, 401, 'invalid_client'],
    ['a wrong secret', { token: 'x', ...web, client_secret: 'x' }, 401, 'invalid_client'],
    ['no token', web, 400, 'invalid_request'],
  ] as [string, Record<string, string>, number, string][]) {
    const answer = await form(parameters, {}, '/oauth2/introspect');
    t.match(answer, { status, body: { error } }, name);
  }
});

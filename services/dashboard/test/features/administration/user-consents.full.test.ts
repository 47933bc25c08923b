import { createServer } from 'node:http';
import type { Page } from '@gatehouse/testing/form-browser';
import { listen } from '@gatehouse/testing/listen';
import t from 'tap';
import { build, heading } from '../../build.ts';

const built = await build(t, { unknownClients: ['openid'] });
const textOf = ({ html }: Page) => html.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
const { browser: admin } = await built.signedIn('admin');
const { browser: ann } = await built.signedIn('ann');
const PAGE = `/dashboard/users/${built.people.ann.id}`;
const redirect_uri = 'https://shop.example.org/callback';
const { body: shop } = await built.call<{ client_id: string }>('POST', '/api/v1/applications', 'admin', {
  ...{ name: 'Shop', type: 'spa', scopes: ['openid', 'profile'], redirect_uris: [redirect_uri] },
});
const query = new URLSearchParams({
  ...{ client_id: shop.client_id, redirect_uri, response_type: 'code', scope: 'openid profile' },
  ...{ code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' },
});
const end = `${PAGE}/applications/${shop.client_id}/end`;

t.test('an admin sees what a user has allowed, and ends it', async (t) => {
  t.match(textOf(await admin.get(PAGE)), 'This user has not allowed any application to use the account.');
  const consent = await ann.get(`/oauth2/authorize?${query}`);
  const back = await ann.submit(consent, { decision: 'allow' });
  t.match(back.url.href, /^https:\/\/shop\.example\.org\/callback\?code=/);

  const page = await admin.get(PAGE);
  t.match(textOf(page), new RegExp(`Shop ${shop.client_id} openid profile .* End access`));
  t.match(page.html, `href="/dashboard/applications/${shop.client_id}"`);
  const question = await admin.get(end);
  t.equal(heading(question), 'End the access of “Shop” to the account of ann?');
  t.match(textOf(question), /It has had access since .*, with the scopes openid, profile\./);
  t.match((await admin.get(PAGE)).html, end, 'to look at it changes nothing');
  const ended = await admin.submit(question, {}, end);
  t.equal(ended.url.pathname, PAGE);
  t.match(textOf(ended), /The application no longer has access to the account\..*has not allowed any/);
  t.equal((await admin.get(end)).status, 404);
  t.equal(heading(await ann.get(`/oauth2/authorize?${query}`)), heading(consent), 'ann is asked again');
});

t.test('an application that describes itself has no page, and is ended as well', async (t) => {
  const site = createServer((_request, response) =>
    response.end(JSON.stringify({ client_id: agent, client_name: 'Agent', redirect_uris: [redirect_uri] })),
  );
  const agent = `http://127.0.0.1:${await listen(t, site)}/agent.json`;
  const request = new URLSearchParams({ ...Object.fromEntries(query), client_id: agent, scope: 'openid' });
  await ann.submit(await ann.get(`/oauth2/authorize?${request}`), { decision: 'allow' });
  const page = await admin.get(PAGE);
  t.match(textOf(page), `Agent ${agent} openid`);
  t.notMatch(page.html, 'href="/dashboard/applications/http');
  const ended = await admin.confirm(page, `/applications/${encodeURIComponent(agent)}/end`);
  t.match(textOf(ended), /The application no longer has access to the account\..*has not allowed any/);
});

t.test('nobody else sees it', async (t) => {
  const { browser: editor } = await built.signedIn('editor');
  const page = await editor.get(PAGE);
  t.equal(page.status, 200);
  t.notMatch(page.html, 'Applications with access');
  t.equal((await editor.get(end)).status, 403);
  t.equal((await ann.get(PAGE)).status, 403);
  t.equal((await ann.get(end)).status, 403);
});

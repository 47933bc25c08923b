import { unescapeHtml } from '@gatehouse/testing/form-browser';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { API_FRAMEWORKS } from '../../../src/features/applications/quick-start/verify.ts';
import { build, textOf } from '../../build.ts';

const built = await build(t);
const { browser } = await built.signedIn('ann');
const draft = {
  identifier: 'https://10.0.0.1:4000/notes',
  name: "Notes'",
  scopes: [{ name: 'notes:read', description: 'Read your notes' }],
};
const { body: api } = await built.call<{ id: string; owner: string }>(
  'POST',
  '/api/v1/resources',
  'ann',
  draft,
);
const page = `/dashboard/resources/${api.id}`;

t.test('an API without verifiers says what to do', async (t) => {
  const overview = await browser.get(page);
  t.match(textOf(overview), /Verifiers None is connected\. Connect one/);
  t.match(overview.html, `href="${page}/quick-start"`);
  const verifiers = await browser.get(`${page}/verifiers`);
  t.match(textOf(verifiers), /No verifier is connected\. .* quick start/);
  t.match(textOf(verifiers), /Nothing was revoked yet/);
  t.notMatch(textOf(verifiers), 'Test revocation');
});

t.test('its verifiers, a test of revocation, and the last revocations', async (t) => {
  const { body: server } = await built.call<{ client_id: string; client_secret: string }>(
    'POST',
    '/api/v1/applications',
    'ann',
    { name: 'Server', type: 'resource', scopes: [] },
  );
  const abort = new AbortController();
  t.teardown(() => abort.abort());
  const authorization = `Basic ${btoa(`${server.client_id}:${server.client_secret}`)}`;
  const feed = await fetch(`${built.base}/api/v1/resources/${api.id}/revocations`, {
    signal: abort.signal,
    headers: {
      authorization,
      accept: 'text/event-stream',
      'user-agent': 'gatehouse-verify-python/0.1.0',
      'x-gatehouse-verifier': 'id=0123456789abcdef; stale=refuse',
    },
  });
  t.equal(feed.status, 200);
  const verifiers = `${page}/verifiers`;
  await until(async () => textOf(await browser.get(verifiers)).includes('Python'), 3000);
  const before = await browser.get(verifiers);
  t.match(textOf(before), /Python …89abcdef 0\.1\.0 connected .* no Refuses all requests/);
  t.match(textOf(await browser.get(page)), /Verifiers 1 connected/);
  t.notMatch(textOf(before), 'Accepted, of people');
  const requests = {
    person: 1203,
    machine: 0,
    key: 2,
    refused: [{ status: 401, error: 'invalid_token', count: 7 }],
  };
  await fetch(`${built.base}/api/v1/resources/${api.id}/verifiers/0123456789abcdef/report`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ requests }),
  });
  t.match(
    textOf(await browser.get(verifiers)),
    /Accepted, of people 1,203 Accepted, with API keys 2 Refused, 401 invalid_token 7/,
  );
  const tested = await browser.submit(before, {}, '/verifiers/test#test"');
  t.match(
    [tested.status, textOf(tested)],
    [200, /Result Process Sent after Applied after Python …89abcdef \d+ ms not reported/],
  );
  t.match(textOf(tested), /Revoked At In force until Reason token …\w{8} .* test/);
  for (let count = 0; count < 9; count += 1) await browser.submit(before, {}, '/verifiers/test#test"');
  const refused = await browser.submit(before, {}, '/verifiers/test#test"');
  t.match([refused.status, textOf(refused)], [/^4\d\d$/, /Too many requests: try again in \d+ s/]);
});

/** Code without its colours. */
function codeOf({ html }: { html: string }, id: string): string {
  const [, code = ''] = new RegExp(`<pre id="${id}"[^>]*><code>(.*?)</code>`, 's').exec(html) ?? [];
  return unescapeHtml(code.replaceAll(/<[^>]+>/g, ''));
}

t.test('the quick start has a program for each framework', async (t) => {
  for (const { id, title } of API_FRAMEWORKS) {
    const shown = await browser.get(`${page}/quick-start?for=${id}`);
    t.equal(codeOf(shown, 'code-env'), 'CLIENT_ID=YOUR_CLIENT_ID\nCLIENT_SECRET=YOUR_CLIENT_SECRET', title);
    const code = codeOf(shown, 'code-0');
    t.match(code, `audience: '${draft.identifier}'`, title);
    t.match(code, `issuer: '${built.base}'`, title);
  }
  const next = await browser.get(`${page}/quick-start?for=next`);
  t.match(textOf(next), 'app/.well-known/oauth-protected-resource/notes/route.js');
  t.match(codeOf(next, 'code-1'), `from '../../verifier.js'`);
  t.match(codeOf(next, 'code-2'), `from '../../../../verifier.js'`);
  t.match(codeOf(next, 'code-2'), `name: 'Notes\\'', scopes: ['notes:read'], owner: '${api.owner}'`);
  t.match(textOf(await browser.get(`${page}/quick-start`)), 'verifier.js', 'the last one is shown again');
});

import type { Page } from '@gatehouse/testing/form-browser';
import t from 'tap';
import { build, heading, textOf } from '../../build.ts';
import { createWorkloadIssuer } from '../applications/workload.ts';

const built = await build(t);
const { browser } = await built.signedIn('admin');
const NEW = '/dashboard/trusted-issuers/new';
const FORM = 'name="kinds"';
const CLUSTER = 'https://cluster.example';
const { jwks } = createWorkloadIssuer(CLUSTER);
const fieldOf = ({ html }: Page, name: string) =>
  new RegExp(`name="${name}"[^>]* value="([^"]*)"`).exec(html)?.[1];

t.test('issuers are for admins', async (t) => {
  const { browser: other, page } = await built.signedIn('ann');
  t.notMatch(page.html, 'trusted-issuers');
  t.equal((await other.get('/dashboard/trusted-issuers')).status, 403);
});

t.test('the form of a platform has its issuer, or says where it is', async (t) => {
  const choice = await browser.get(NEW);
  for (const [name, issuer, said] of [
    ['github', 'https://token.actions.githubusercontent.com', 'It cannot be changed later.'],
    ['gitlab', 'https://gitlab.com', 'For your own GitLab, enter its URL.'],
    ['kubernetes', '', 'kubectl get --raw /openid/v1/jwks'],
    ['google', 'https://accounts.google.com', ''],
    ['aws', '', 'aws iam get-outbound-web-identity-federation-info'],
    ['azure', '', 'https://login.microsoftonline.com/{tenant ID}/v2.0'],
    ['spiffe', '', 'the URL of its SPIFFE bundle'],
    ['other', '', 'The claim iss of its tokens'],
  ] as const) {
    t.match(choice.html, `?type=${name}"`);
    const form = await browser.get(`${NEW}?type=${name}`);
    t.equal(fieldOf(form, 'issuer'), issuer, name);
    t.ok(textOf(form).includes(said), `${name}: ${said}`);
    const isReused = /name="reuses_tokens"[^>]* checked/.test(form.html);
    t.equal(isReused, ['kubernetes', 'google', 'azure', 'spiffe'].includes(name), `${name}: reuse`);
    t.equal(/<details[^>]* open/.test(form.html), false, `${name}: what few need is folded`);
  }
});

t.test('an issuer is added, changed, turned off and on, and deleted', async (t) => {
  const form = await browser.get(`${NEW}?type=kubernetes`);
  const refused = await browser.submit(form, { issuer: `${CLUSTER}?a=b`, jwks: '[]' }, FORM);
  t.equal(refused.status, 400);
  t.match(textOf(refused), 'The keys must be a JWK set in JSON');
  const wrong = await browser.submit(refused, { issuer: `${CLUSTER}?a=b`, jwks: '' }, FORM);
  t.match(textOf(wrong), 'The issuer must be an https URL without a query or fragment.');
  const sent = { issuer: CLUSTER, jwks: JSON.stringify(jwks), scopes: 'read:data' };
  const made = await browser.submit(wrong, sent, FORM);
  t.match(textOf(made), /The issuer is trusted\. .* Platform Kubernetes For Workloads Status active/);
  t.match(textOf(made), 'Keys Entered here (1) A token works until it expires');
  const again = await browser.submit(form, sent, FORM);
  t.match(textOf(again), 'This issuer is trusted already.');

  const path = made.url.pathname;
  const id = path.split('/').at(-1);
  const read = async () => (await built.call('GET', `/api/v1/trusted-issuers/${id}`)).body;
  t.match(await read(), {
    ...{ preset: 'kubernetes', algorithms: ['RS256', 'ES256'], reuses_tokens: true },
    ...{ scopes: ['read:data'], applications: null, jwks_uri: null },
  });
  const uri = `${CLUSTER}/openid/v1/jwks`;
  const saved = await browser.submit(await browser.get(path), { jwks: '', jwks_uri: uri }, FORM);
  t.match(textOf(saved), `Your changes are saved.`);
  t.match(await read(), { jwks: null, jwks_uri: uri, scopes: ['read:data'], reuses_tokens: true });
  const { action, ...unticked } = { action: path, scopes: '', 'scopes.other': '' };
  t.match(await browser.submit(await browser.get(action), unticked, FORM), { status: 200 });
  t.match(await read(), { scopes: null }, 'no scope is no limit');

  const question = await browser.get(`${path}/turn-off`);
  t.match(textOf(question), /All access tokens .* stop working at once/);
  t.match(await read(), { enabled: true }, 'it asks first');
  const off = await browser.confirm(await browser.get(path), '/turn-off');
  t.match(textOf(off), /The issuer is off\. .* Status off/);
  t.match(textOf(await browser.submit(off, {}, '/turn-on"')), /The issuer is on\. .* Status active/);

  t.match(textOf(await browser.get('/dashboard/trusted-issuers')), `Kubernetes ${CLUSTER} Workloads active`);
  t.match((await browser.get('/dashboard/search?q=cluster')).html, path);
  t.match((await browser.get('/dashboard/search?q=workload')).html, '/dashboard/trusted-issuers"');
  const gone = await browser.confirm(await browser.get(path), '/delete', { confirmation: CLUSTER });
  t.equal(heading(gone), 'Trusted issuers');
  t.equal((await built.call('GET', `/api/v1/trusted-issuers/${id}`)).status, 404);
});

import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Page, unescapeHtml } from '@gatehouse/testing/form-browser';
import { listen } from '@gatehouse/testing/listen';
import { until } from '@gatehouse/testing/processes';
import { render } from '@gatehouse/web/html';
import t from 'tap';
import type { Application, FederatedCredential } from '../../../src/api/application-types.ts';
import { secretSection } from '../../../src/features/applications/credential-sections.ts';
import { PLATFORMS } from '../../../src/features/applications/quick-start/platforms.ts';
import { build, PASSWORD, textOf } from '../../build.ts';
import { createWorkloadIssuer } from './workload.ts';

const GITHUB = 'https://token.actions.githubusercontent.com';
const SUBJECT = 'repo:acme/shop:ref:refs/heads/main';
const ADD = '/credentials/federated"';
const EXPLAIN = '/credentials/explain"';

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-workload-'));
t.teardown(() => rmSync(directory, { recursive: true }));

/** The sample on a page, which is highlighted. */
const sampleOn = ({ html }: Page) =>
  unescapeHtml(/id="use-0"[^>]*>(.*?)<\/pre>/s.exec(html)?.[1]?.replaceAll(/<[^>]+>/g, '') ?? '');

/** Runs the commands of a sample, with `token.jwt` beside them; of a workflow, those of its job. Returns what is printed. */
async function run(sample: string, env: Record<string, string>, more = '') {
  const [, spaces = '', block] = /^( *)(?:- run:|-) \|\n([\s\S]*)/m.exec(sample) ?? [];
  const indent = spaces.length + (sample.includes('- run: |') ? 4 : 2);
  const code = block?.replaceAll(new RegExp(`^ {${indent}}`, 'gm'), '') ?? sample;
  const shell = spawn('sh', ['-euc', `${code}\n${more}`], {
    cwd: directory,
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr] = await Promise.all([text(shell.stdout), text(shell.stderr)]);
  return { stdout: stdout.trim(), stderr };
}

t.test('a job signs in without a secret', async (t) => {
  const built = await build(t);
  const github = createWorkloadIssuer(GITHUB);
  const ci = createWorkloadIssuer('https://ci.example');
  for (const [issuer, { jwks }] of [
    [GITHUB, github],
    ['https://ci.example', ci],
  ] as const)
    await built.call('POST', '/api/v1/trusted-issuers', 'admin', { issuer, jwks, kinds: ['workload'] });
  const draft = { name: 'Deployment', type: 'machine', scopes: ['read:data'] };
  const { body } = await built.call('POST', '/api/v1/applications', 'ann', draft);
  const id = String(body.client_id);
  const path = `/dashboard/applications/${id}/credentials`;
  const { browser } = await built.signedIn('ann');

  const start = await browser.get(`/dashboard/applications/${id}/quick-start`);
  const [, tab = ''] = /href="([^"]+)">do without one</.exec(start.html) ?? [];
  const steps = await browser.get(tab);
  t.match(textOf(steps), 'client_assertion_type');
  t.match(steps.html, `href="${path}#federated"`);
  const form = await browser.get(path);
  t.match(textOf(form), 'There is no federated credential yet.');
  const rule = {
    rule_name: 'Shop',
    issuer: GITHUB,
    subject: SUBJECT,
    claims: 'ref=main\r\nenvironment=prod',
  };
  for (const [wrong, said] of [
    [{ issuer: 'https://stranger.example' }, 'The issuer is no trusted issuer of workloads.'],
    [{ subject: '*' }, 'The subject may have * only at its end'],
    [{ claims: 'ref=main\nprod' }, 'Line 2 needs a name and a value'],
  ] as const) {
    const refused = await browser.submit(form, { ...rule, ...wrong }, ADD);
    t.match([refused.status, textOf(refused)], [400, said]);
    t.match(refused.html, 'value="Shop"', 'what was filled in stays');
  }
  const made = await browser.submit(form, rule, ADD);
  t.match(textOf(made), `${GITHUB} sub=${SUBJECT} ref=main environment=prod never`);
  t.match(textOf(made), 'How “ Shop ” gets an access token');

  const claims = { sub: SUBJECT, aud: built.base, ref: 'main', environment: 'prod' };
  const platform = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '', built.base);
    const isAsked = request.headers.authorization === 'Bearer of-the-job';
    const value = isAsked && github.sign({ ...claims, aud: searchParams.get('audience') });
    response.end(JSON.stringify({ value }));
  });
  const [url, print] = [`http://127.0.0.1:${await listen(t, platform)}/?api-version=2.0`, 'echo "$TOKEN"'];
  const job = { ACTIONS_ID_TOKEN_REQUEST_URL: url, ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'of-the-job' };
  const itemsWith = async (token = '') =>
    (await fetch(`${built.base}/api/v1/items`, { headers: { authorization: `Bearer ${token}` } })).status;
  const issued = await run(sampleOn(made), job, print);
  t.equal(await itemsWith(issued.stdout.split('\n').at(-1)), 200, issued.stderr);

  const other = await browser.submit(
    form,
    { ...rule, issuer: 'https://ci.example', subject: 'job 1', claims: '' },
    ADD,
  );
  writeFileSync(join(directory, 'token.jwt'), ci.sign({ sub: 'job 1', aud: built.base }));
  const second = await run(sampleOn(other), {}, print);
  t.equal(await itemsWith(second.stdout), 200, second.stderr);

  await until(async () => textOf(await browser.get(path)).includes('from 127.0.0.1'), 5000);
  t.match(textOf(await browser.get(path)), 'A federated credential is in use: if nothing uses this secret');

  await t.test('a token that is not accepted is explained, and kept nowhere', async (t) => {
    const explained = async (token: string) => {
      const page = await browser.submit(await browser.get(path), { token }, EXPLAIN);
      t.notMatch(page.html + page.url.href, token, 'the token is not in the response');
      return textOf(page);
    };
    const good = github.sign(claims);
    t.match(await explained(good), /This token is accepted\. .* Shop ✓ It matches\. – – /);
    const wrong = await explained(github.sign({ ...claims, environment: 'test' }));
    t.match(
      wrong,
      /is not accepted\. .* no federated credential matches it\. .* Shop environment differs\. prod test/,
    );
    t.match(
      await explained(github.sign({ sub: SUBJECT, aud: built.base })),
      'Shop ref differs. main missing',
    );
    t.match(await explained('x'.repeat(17_000)), 'The token must');
    t.match(await explained('a.b.c'), 'This token is not accepted. The token is no valid JWT.');
    t.match(await explained(createWorkloadIssuer(GITHUB).sign(claims)), 'The token has a wrong signature.');
  });

  await t.test('developers and viewers change nothing', async (t) => {
    for (const [role, explains] of [
      ['developer', true],
      ['viewer', false],
    ] as const) {
      const person = { username: role, email: `${role}@example.org`, password: PASSWORD };
      await built.call('POST', '/v2/users', 'admin', person);
      await built.call('POST', `/api/v1/applications/${id}/members`, 'ann', { user: role, role });
      await built.call('POST', `/api/v1/memberships/${id}/accept`, role);
      const page = await (await built.signedIn(role)).browser.get(path);
      t.match(textOf(page), `sub=${SUBJECT}`, role);
      t.equal(page.html.includes(EXPLAIN), explains, role);
      t.notOk(page.html.includes(ADD) || /federated\/\w+\/remove/.test(page.html), role);
    }
  });

  await t.test('admins choose from the trusted issuers', async (t) => {
    const page = await (await built.signedIn('admin')).browser.get(path);
    t.match(page.html, `<option value="${GITHUB}"`);
  });

  await t.test('one is removed, and its secrets are not the last way in', async (t) => {
    const secret = await browser.get(/href="([^"]*secrets\/[^"]*\/remove)"/.exec(made.html)?.[1] ?? '');
    t.notMatch(secret.html, 'the only secret');
    const left = await browser.confirm(await browser.get(path), '/remove');
    t.match(textOf(left), 'The secret no longer works.');
    t.match(textOf(left), 'The application signs in with its federated credentials.');
    const removed = await browser.confirm(left, '/credentials/federated/');
    t.match(textOf(removed), 'The federated credential is removed.');
    t.equal(await itemsWith(second.stdout), 401, 'with the tokens that it gave');
  });

  await t.test('its issuer is switched off, and deleted', async (t) => {
    const { body } = await built.call('GET', '/api/v1/trusted-issuers', 'admin');
    const trusted = body.data as { id: string; issuer: string }[];
    const issuer = `/api/v1/trusted-issuers/${trusted.find((it) => it.issuer === 'https://ci.example')?.id}`;
    const [on, off] = [
      ['https://ci.example sub=job 1', 'signs in with its federated credentials'],
      ['https://ci.example off Administrators no longer trust it. sub=job 1', 'Create a secret so that'],
    ];
    for (const [method, change, said] of [
      ['GET', undefined, on],
      ['PATCH', { enabled: false }, off],
      ['PATCH', { enabled: true }, on],
      ['DELETE', undefined, off],
    ] as const) {
      await built.call(method, issuer, 'admin', change);
      const page = textOf(await browser.get(path));
      for (const text of said) t.match(page, text, `${method} ${JSON.stringify(change)}`);
    }
    await built.call('POST', `/api/v1/applications/${id}/secrets`, 'ann', {});
    const secret = (await browser.get(path)).html.match(/href="([^"]*secrets\/[^"]*\/remove)"/)?.[1] ?? '';
    t.match(textOf(await browser.get(secret)), 'It is the only secret');
  });
});

t.test('a secret that can go', async (t) => {
  const ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
  const value = { type: 'machine', token_endpoint_auth_method: 'client_secret_basic' } as Application;
  const shown = (made: number, used: number | null, federated: (number | null)[]) => {
    const use = (days: number | null) => ({
      last_used_at: days === null ? null : ago(days),
      last_used_address: null,
    });
    const secret = { id: 'sec_1', label: null, last_four: 'abcd', expires_at: null, created_at: ago(made) };
    const section = secretSection({
      page: { value, path: '' } as Parameters<typeof secretSection>[0]['page'],
      secrets: [{ ...secret, ...use(used) }],
      federated: federated.map((days) => ({ ...use(days) }) as FederatedCredential),
      ...{ fresh: [], canChange: false, makers: new Map() },
    });
    return /in use: (you can|if nothing)/.exec(render(section))?.[1];
  };
  for (const [made, used, federated, said] of [
    [30, null, [], undefined],
    [30, null, [null], undefined],
    [30, null, [1], 'you can'],
    [30, 8, [9, null], 'you can'],
    [30, 6, [5], 'if nothing'],
    [30, 5, [6], undefined],
    [2, null, [1], 'if nothing'],
    [1, null, [2], undefined],
  ] as const)
    t.equal(shown(made, used, [...federated]), said, `${made} ${used} ${federated}`);
});

t.test('samples take hostile values as texts', async (t) => {
  for (const name of ['curl', 'aws', 'spire-agent', 'jq']) {
    writeFileSync(join(directory, name), '#!/bin/sh\nprintf "%s\\n" "$@" >&2\n');
    chmodSync(join(directory, name), 0o755);
  }
  writeFileSync(join(directory, 'token.jwt'), 'token');
  const tail = `$(echo pwned);\`pwned\`';pwned();'";pwned();"\\`;
  const [base, audience, subject] = [`https://id.example/${tail}`, `api://${tail}`, `x:y:z:${tail}`];
  const own = {
    client_id: `app_1${tail}`,
    scopes: ['read:data', tail],
    redirect_uris: [`https://a/${tail}`],
  };
  for (const type of ['machine', 'web'] as const) {
    const application = { ...own, type } as unknown as Application;
    for (const { title, files } of Object.values(PLATFORMS)) {
      for (const [place, code] of Object.entries(
        files({ base, application, audience, subject, issuer: `spiffe://${tail}` }),
      )) {
        if (place === 'Specification of the pod') {
          for (const value of [tail, audience]) t.ok(code.text.includes(`: ${JSON.stringify(value)}`), value);
          continue;
        }
        const shell = code.text.replace('/var/run/secrets/gatehouse/token', 'token.jwt');
        const env = { PATH: `${directory}:${process.env.PATH}`, CODE: 'code', ASSERTION: 'a' };
        const job = { ACTIONS_ID_TOKEN_REQUEST_URL: 'https://a/?b', ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'c' };
        const { stdout, stderr } = await run(shell, { ...env, ...job });
        t.equal(stdout.replace('::add-mask::', ''), '', `${title}, ${type}: nothing else runs`);
        t.ok(stderr.includes('client-assertion-type:jwt-spiffe'), title);
        const last = type === 'web' ? `redirect_uri=https://a/${tail}` : `scope=read:data ${tail}`;
        for (const value of [`${base}/oauth2/token`, `client_id=app_1${tail}`, last])
          t.ok(stderr.split('\n').includes(value), `${title}, ${type}: ${value} of ${stderr}`);
      }
    }
  }
});

t.test('a workload sends its JWT-SVID by its issuer', async (t) => {
  const application = { client_id: 'app_1', scopes: [], redirect_uris: [], type: 'machine' };
  for (const [issuer, type] of [
    ['spiffe://example.org', 'jwt-spiffe'],
    ['https://spire.example.org', 'jwt-bearer'],
  ] as const) {
    const workload = { base: 'https://id.example', audience: 'a', subject: 'spiffe://example.org/a', issuer };
    const { files } = PLATFORMS.spiffe;
    const texts = Object.values(files({ ...workload, application: application as unknown as Application }));
    t.match(texts.map(({ text }) => text).join(), `client-assertion-type:${type} `);
  }
});

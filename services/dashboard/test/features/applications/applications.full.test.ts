import { generateKeyPairSync } from 'node:crypto';
import type { Page } from '@gatehouse/testing/form-browser';
import t from 'tap';
import { build, codeOf, heading, PASSWORD, textOf } from '../../build.ts';

const FORM = 'name="name"';
/** What is said at a field. */
const problemAt = ({ html }: Page, id: string) =>
  new RegExp(`id="${id}-problem">([^<]*)<`).exec(html)?.[1]?.replaceAll('&quot;', '"');
const isUnfolded = ({ html }: Page) => /<details class="panel advanced" open>/.test(html);

const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const JWKS = JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), alg: 'ES256' }] });

t.test('the settings of applications', async (t) => {
  const built = await build(t);
  const { browser } = await built.signedIn('ann');
  const admin = await built.signedIn('admin');
  const read = async (page: Page) =>
    (await built.call('GET', `/api/v1/applications/${page.url.pathname.split('/')[3]}`)).body;
  const newForm = (type: string) => browser.get(`/dashboard/applications/new?type=${type}`);
  const uris = { redirect_uris: 'https://web.example.org/callback', scopes: 'openid' };

  await t.test('each type is offered what it can have, and is made as it is', async (t) => {
    const names = ({ html }: Page) =>
      [...html.matchAll(/<(?:input|select|textarea) (?:type="checkbox" )?id="([a-z_]+)"/g)].map(
        ([, id]) => id,
      );
    const seen: Record<string, unknown> = {};
    for (const type of ['web', 'spa', 'native', 'machine', 'resource']) {
      const form = await newForm(type);
      seen[type] = names(form);
      t.notMatch(form.html, /<label for="redirect_uris">Redirect URIs <span/, 'they are not optional');
      t.notOk(isUnfolded(form), `${type}: nothing is out of the ordinary yet`);
      const ticked = [...form.html.matchAll(/name="scopes" value="([^"]+)" checked/g)].map(([, it]) => it);
      const usual = { machine: ['read:data'], resource: [] }[type] ?? ['openid', 'profile', 'email'];
      t.same(ticked, usual, 'as the guides say');
      const fields = type === 'machine' ? { scopes: 'read:data' } : type === 'resource' ? {} : uris;
      const made = await browser.submit(form, { name: `Plain ${type}`, ...fields }, FORM);
      t.equal(made.status, 200, `${type}: ${textOf(made).slice(0, 300)}`);
      const id = made.url.pathname.split('/')[3];
      if (type === 'web') {
        t.match(made.url.pathname, /quick-start$/);
        const [, secret = ''] = /id="new-credential">([\w-]{43})</.exec(made.html) ?? [];
        t.match(textOf(made), `CLIENT_SECRET =${secret}`, 'the file of the variables has it');
        t.match(made.html, /<details class="panel" open><summary>Express<\/summary>/, 'without a project');
        t.match(made.html, /<details class="panel"><summary>Next\.js<\/summary>/, 'so do all frameworks');
        t.notMatch((await browser.get(made.url.pathname)).html, secret, 'once');
      } else if (made.url.pathname.endsWith('/credentials'))
        t.match(made.html, `/${id}/quick-start">quick start</a> shows`);
      const look = await browser.get(`/dashboard/applications/${id}/branding`);
      for (const page of ['sign-in', 'consent']) {
        const link = `href="/account/applications/${id}/preview/${page}"`;
        t.equal(look.html.includes(link), !['machine', 'resource'].includes(type), `${type}: ${page}`);
      }
      for (const path of ['', '/credentials', '/quick-start', '/usage', '/members']) {
        const page = await browser.get(made.url.pathname.replace(/\/(credentials|quick-start)$/, '') + path);
        t.equal(heading(page), `Plain ${type}`, type + path);
      }
    }
    t.matchOnly(seen, {
      web: [
        ...['name', 'redirect_uris', 'post_logout_redirect_uris'],
        ...['security_profile', 'jwks', 'jwks_uri'],
        ...[
          'require_second_factor',
          'require_pushed_authorization_requests',
          'device_flow',
          'legacy_implicit',
        ],
        'dpop_bound_access_tokens',
        ...['id_token_signed_response_alg', 'id_token_profile_claims', 'backchannel_logout_uri'],
      ],
      spa: [
        ...['name', 'redirect_uris', 'post_logout_redirect_uris'],
        'require_second_factor',
        ...[
          'require_pushed_authorization_requests',
          'legacy_implicit',
          'dpop_bound_access_tokens',
          'id_token_signed_response_alg',
          'id_token_profile_claims',
        ],
        'backchannel_logout_uri',
      ],
      native: [
        ...['name', 'redirect_uris', 'post_logout_redirect_uris'],
        'require_second_factor',
        ...[
          'require_pushed_authorization_requests',
          'device_flow',
          'dpop_bound_access_tokens',
          'id_token_signed_response_alg',
          'id_token_profile_claims',
          'backchannel_logout_uri',
        ],
      ],
      machine: ['name', 'security_profile', 'jwks', 'jwks_uri', 'dpop_bound_access_tokens', 'token_exchange'],
      resource: ['name', 'jwks', 'jwks_uri', 'token_exchange'],
    });
  });

  await t.test('errors are shown at their fields, and nothing that was entered is lost', async (t) => {
    const form = await newForm('web');
    const wrong: [fields: Record<string, string>, at: string, message: RegExp][] = [
      [{ jwks: '{oops' }, 'jwks', /^The key set must be a JWK set in JSON: {"keys": \[…\]}\.$/],
      [{ jwks: '{"keys":[]}' }, 'jwks', /^The key set must have from 1 to 5 keys\.$/],
      [{ security_profile: 'fapi2' }, 'jwks', /^The key set is required/],
      [
        { security_profile: 'fapi2', jwks: JWKS, legacy_implicit: 'yes' },
        'legacy_implicit',
        /^The implicit flow /,
      ],
      [
        { legacy_implicit: 'yes', dpop_bound_access_tokens: 'yes' },
        'legacy_implicit',
        /^The implicit flow cannot be combined/,
      ],
      [
        { backchannel_logout_uri: 'https://10.0.0.1/out' },
        'backchannel_logout_uri',
        /^The back-channel logout URI must use https and a host name\.$/,
      ],
    ];
    for (const [fields, at, message] of wrong) {
      const refused = await browser.submit(form, { name: 'Wrong', ...uris, ...fields }, FORM);
      t.equal(refused.status, 400, at);
      t.match(problemAt(refused, at), message);
      t.match(refused.html, new RegExp(`id="${at}"[^>]* autofocus|<a href="#${at}">`), 'it is led to');
      t.ok(isUnfolded(refused));
      t.match(refused.html, 'https://web.example.org/callback');
      if (fields.jwks !== undefined) t.equal(codeOf(refused, 'jwks')?.trim(), fields.jwks);
    }
  });

  await t.test('FAPI 2.0 turns on what it requires, and only what changes is sent', async (t) => {
    const made = await browser.submit(
      await newForm('web'),
      { name: 'Bank', ...uris, security_profile: 'fapi2', jwks: JWKS },
      FORM,
    );
    t.match(await read(made), {
      security_profile: 'fapi2',
      dpop_bound_access_tokens: true,
      require_pushed_authorization_requests: true,
      id_token_signed_response_alg: 'ES256',
      token_endpoint_auth_method: 'private_key_jwt',
    });
    t.ok(isUnfolded(made));
    t.match(textOf(await browser.get(`${made.url.pathname}/credentials`)), 'signs with its own key');
    const off = await browser.submit(made, { id_token_signed_response_alg: 'RS256' }, 'name="jwks"');
    t.match(problemAt(off, 'id_token_signed_response_alg'), /must be ES256/);

    const filled = { ...uris, jwks: codeOf(made, 'jwks') ?? '', id_token_signed_response_alg: 'ES256' };
    const uri = { post_logout_redirect_uris: 'https://web.example.org/' };
    const changed = await browser.submit(made, { ...filled, ...uri }, 'name="jwks"');
    t.match(textOf(changed), 'Your changes are saved');
    const { body } = await built.call<{ data: { action: string; details: object }[] }>(
      'GET',
      '/api/v1/audit',
    );
    t.same(
      body.data.find(({ action }) => action === 'application.changed')?.details,
      { by: 'dashboard', fields: ['postLogoutRedirectUris'] },
      'whoever reads the audit log sees what was changed',
    );
  });

  await t.test('the quick start has tabs, and shows the last one again', async (t) => {
    const draft = { name: 'Quick', type: 'web', scopes: ['openid'], device_flow: true };
    const { body } = await built.call<{ client_id: string }>('POST', '/api/v1/applications', 'ann', draft);
    const path = `/dashboard/applications/${body.client_id}/quick-start`;
    const current = ({ html }: Page) => /\?for=([\w-]+)#code" aria-current="page"/.exec(html)?.[1];
    t.equal(current(await browser.get(path)), 'express', 'the first one needs no project');
    for (const id of ['django', 'curl', 'spring']) {
      t.equal(current(await browser.get(`${path}?for=${id}`)), id);
      t.equal(current(await browser.get(path)), id);
    }
    t.equal(current(await browser.get(`${path}?for=react`)), 'spring', 'not one of another type');
    const redirect_uris = ['https://web.example.org/callback'];
    await built.call('PATCH', `/api/v1/applications/${body.client_id}`, 'ann', { redirect_uris });
    t.match((await browser.get(path)).html, 'https://web.example.org/login/oauth2/code/gatehouse</code>');
  });

  await t.test('an admin trusts a machine, and who did it and when is shown', async (t) => {
    const fields = { name: 'Batch', scopes: 'read:data' };
    const made = await browser.submit(await newForm('machine'), fields, FORM);
    const path = made.url.pathname.replace('/credentials', '');
    const own = await browser.get(path);
    t.match(textOf(own), 'Only an admin can make an application trusted.');
    t.notMatch(own.html, `${path}/trust`);
    const trusted = await admin.browser.confirm(await admin.browser.get(path), `${path}/trust`);
    t.match(
      textOf(trusted),
      /is trusted: it acts with its own scopes, .* granted by admin , \d+ \w+ \d{4}, \d\d:\d\d/,
    );
    t.match(textOf(await browser.get(path)), 'granted by an admin', 'its owner sees it, without the name');
    const ended = await admin.browser.confirm(trusted, `${path}/trust`);
    t.match(textOf(ended), 'The trust has ended');
    t.match(await read(made), { trusted: false, trusted_by: null });
  });

  await t.test('an admin marks an own machine as a deployer, which other admins see and end', async (t) => {
    const make = async (type: string, owner: string) => {
      const redirects = type === 'web' && { redirect_uris: ['https://web.example.org/callback'] };
      const draft = { name: 'Pipeline', type, scopes: ['read:data'], ...redirects };
      const { body } = await built.call<{ client_id: string }>('POST', '/api/v1/applications', owner, draft);
      return `/dashboard/applications/${body.client_id}`;
    };
    const path = await make('machine', 'admin');
    const boss = { username: 'boss', email: 'boss@example.org', password: PASSWORD };
    const { body: user } = await built.call<{ id: string }>('POST', '/v2/users', 'admin', boss);
    await built.call('PUT', `/v2/users/${user.id}/role`, 'admin', { role: 'admin' });
    const other = (await built.signedIn('boss')).browser;
    for (const [visitor, page, status] of [
      [admin.browser, await make('web', 'admin'), 404],
      [admin.browser, await make('machine', 'ann'), 403],
      [browser, await make('machine', 'ann'), 403],
      [other, path, 403],
    ] as const) {
      t.notMatch((await visitor.get(page)).html, 'id="deployer"');
      t.equal((await visitor.get(`${page}/deployer`)).status, status);
    }
    const question = await admin.browser.get(`${path}/deployer`);
    await admin.browser.confirm(await admin.browser.get(path), `${path}/deployer`);
    const marked = await admin.browser.submit(question, {}, `${path}/deployer`);
    t.match(textOf(marked), 'The application is a deployer. You get a mail');
    const says = /in the name of admin , who marked it \d+ \w+ \d{4}, \d\d:\d\d/;
    t.match(textOf(marked), says);
    const seen = await other.get(path);
    t.match(textOf(seen), says);
    const ended = await other.confirm(seen, `${path}/deployer`);
    t.match(textOf(ended), 'The application is no deployer any more.');
    t.notMatch(ended.html, 'id="deployer"');
    t.match(textOf(await admin.browser.get(path)), 'This application is none.');
  });
});

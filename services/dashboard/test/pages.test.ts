import type { Page } from '@gatehouse/testing/form-browser';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { newApplicationFields } from '../src/features/applications/settings-fields.ts';
import { fieldsOf } from '../src/resources/resource-form.ts';
import { landingPage } from '../src/routes/landing-routes.ts';
import { build, codeOf, heading, textOf } from './build.ts';

const HOSTILE = `"'><script>alert(1)</script><img src=x onerror=alert(1)>&amp;</title>`;

const noticeOf = ({ html }: Page) => /class="notice"[^>]*>(.*?)<\/p>/s.exec(html)?.[1];
const alertOf = ({ html }: Page) =>
  /role="alert"[^>]*>[\s\S]*?<\/div>|class="field-problem"[^>]*>[^<]*</
    .exec(html)?.[0]
    .replace(/^[^>]*>/, '')
    ?.replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

t.test('pages of the dashboard', async (t) => {
  const built = await build(t);
  const { base } = built;
  const { browser } = await built.signedIn('ann');
  const admin = await built.signedIn('admin');

  await t.test(
    'somebody without applications is told what to do first, and shown no empty charts',
    async (t) => {
      const page = await browser.get('/dashboard');
      t.match(textOf(page), 'First steps');
      t.notMatch(page.html, 'class="plot');
      t.notMatch(page.html, 'class="ranges"');
      t.match(
        (await admin.browser.get('/dashboard')).html,
        'class="plot',
        'admins see what all applications do',
      );
    },
  );

  await t.test('an application is made, used, changed and deleted', async (t) => {
    const choice = await browser.get('/dashboard/applications/new');
    for (const type of ['web', 'spa', 'native', 'machine']) t.match(choice.html, `?type=${type}"`);

    const form = await browser.get('/dashboard/applications/new?type=machine');
    const refused = await browser.submit(form, { name: ' ', scopes: 'read:data' }, 'name="name"');
    t.equal(refused.status, 400);
    t.match(alertOf(refused), /Enter a name\./);
    t.match(refused.html, /id="scopes-read:data"[^>]* checked/, 'what was filled in stays');

    const made = await browser.submit(refused, { name: 'Night job', scopes: 'read:data' }, 'name="name"');
    t.match(made.url.pathname, /\/credentials$/);
    const secret = codeOf(made, 'new-credential') ?? '';
    t.equal(secret.length, 43);
    const id = made.url.pathname.split('/')[3] ?? '';
    t.equal(codeOf(made, 'new-credential-client'), id, 'with the client ID that it goes with');
    const row = new RegExp(`<th scope="row"><div><code dir="ltr">…${secret.slice(-4)}</code>(.*?)</div>`);
    t.match(row.exec(made.html)?.[1], 'New', 'its row is marked');
    const later = await browser.get(made.url.href);
    t.notMatch(later.html, secret, 'the secret is shown once');
    t.equal(row.exec(later.html)?.[1], '', 'and marked once');
    const list = await browser.get('/dashboard/applications');
    t.match(list.html, `href="${later.url.pathname}" aria-label="Secrets and keys of Night job"`);

    const token = (clientSecret: string) =>
      fetch(`${base}/oauth2/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          client_id: id,
          client_secret: clientSecret,
        }),
      });
    t.equal((await token(secret)).status, 200);

    const rotated = await browser.submit(
      await browser.get(made.url.href),
      { label: 'web 1', expires_in: '86400' },
      '/secrets"',
    );
    const second = codeOf(rotated, 'new-credential') ?? '';
    t.not(second, secret);
    t.match(textOf(rotated), `web 1 …${second.slice(-4)} New`);
    t.match(textOf(rotated), /\d\d:\d\d:\d\d/, 'times have seconds');
    t.same([(await token(secret)).status, (await token(second)).status], [200, 200], 'both work');
    t.notMatch(rotated.html, 'New client secret', 'there is no room for a third');
    const oldest = /secrets\/([^/"]+)\/remove/.exec(rotated.html)?.[1] ?? '';
    await browser.confirm(rotated, `/secrets/${oldest}/remove`);
    t.same([(await token(secret)).status, (await token(second)).status], [401, 200], 'the first is removed');

    let page = await browser.get('/dashboard');
    const clicks = ['/dashboard/applications', `${id}/credentials`, '/rotate'];
    for (const end of clicks) {
      const hrefs = [...page.html.matchAll(/<a [^>]*href="([^"]+)"/g)].map(([, href = '']) => href);
      page = await browser.get(hrefs.find((href) => href.endsWith(end)) ?? `no link to ${end}`);
    }
    const stale = page;
    const shown = await browser.submit(page, { expires_in: 'never' }, 'name="confirmation"');
    const third = codeOf(shown, 'new-credential') ?? '';
    t.match(shown.html, 'data-copy="new-credential"', `shown after ${clicks.length} links and a button`);
    t.match(textOf(shown), `web 1 …${third.slice(-4)} New`, 'under the name of the old one');
    t.same([(await token(second)).status, (await token(third)).status], [200, 200], 'both work');
    const late = await browser.submit(stale, { expires_in: '2592000' }, 'name="confirmation"');
    t.match(alertOf(late), 'The secrets of the application have changed.', 'a page from before ends none');
    t.equal((await token(second)).status, 200);
    const fourth =
      codeOf(await browser.confirm(shown, '/rotate', { expires_in: 'never' }), 'new-credential') ?? '';
    t.same(
      [(await token(second)).status, (await token(third)).status, (await token(fourth)).status],
      [401, 200, 200],
      'one of two is replaced at once',
    );

    const path = `/dashboard/applications/${id}`;
    const keyed = await browser.submit(
      await browser.get(`${path}/credentials`),
      { name: 'export', scopes: 'read:data', key_expires_in: 'never' },
      '/credentials/keys"',
    );
    const key = codeOf(keyed, 'new-credential') ?? '';
    const call = (credential: string) =>
      fetch(`${base}/api/v1/items`, { headers: { authorization: `ApiKey ${credential}` } });
    t.equal((await call(key)).status, 200);
    t.match(textOf(keyed), `${key.slice(-4)} `);
    for (const [made, noun] of [
      [shown, 'secret'],
      [keyed, 'key'],
    ] as const) {
      t.match(
        textOf(made),
        /It is shown only once\. Copy it into .* The \w+ ?\w* shows how to use it\./,
        noun,
      );
      t.match(textOf(made), `Try the ${noun} now`);
    }
    const replaced = await browser.confirm(keyed, '/keys/', { overlap: '3600' });
    const next = codeOf(replaced, 'new-credential') ?? '';
    t.same([(await call(key)).status, (await call(next)).status], [200, 200], 'the keys overlap');
    const revoked = await browser.confirm(replaced, '/revoke');
    t.equal(noticeOf(revoked), 'The API key no longer works.');
    t.equal((await call(key)).status, 401);

    const profiles = await browser.get(`${path}/profiles`);
    const pinned = await browser.submit(
      profiles,
      { v1_users: 'G', v2_users: '', items: 'cursor' },
      'v1_users',
    );
    t.match(pinned.html, /id="v1_users-G"[^>]* checked/);
    t.match(pinned.html, /id="items-cursor"[^>]* checked/);

    const tried = await browser.submit(
      await browser.get(`${path}/quick-start`),
      { request: 'items', client_secret: third },
      'client_secret',
    );
    t.match(textOf(tried), /Response: 200/);
    t.notMatch(tried.html, third, 'what was typed is not sent back');
    const wrong = await browser.submit(tried, { request: 'items', client_secret: 'wrong' }, 'client_secret');
    t.match(alertOf(wrong), 'not a valid secret');

    const settings = await browser.get(path);
    const kept = await browser.confirm(settings, '/delete', { confirmation: 'Night' });
    t.equal(kept.status, 400);
    t.match(kept.html, 'The name does not match. Nothing was changed.');
    const deleted = await browser.confirm(settings, '/delete', { confirmation: 'Night job' });
    t.match(noticeOf(deleted), 'The application is deleted.');
    t.equal((await browser.get(path)).status, 404);
  });

  await t.test('a redirect URI that is refused is named by its line', async (t) => {
    const form = await browser.get('/dashboard/applications/new?type=web');
    t.match(form.html, />\nhttp:\/\/localhost:4000\/callback<\/textarea>/, 'on a laptop, one is proposed');
    const [, elsewhere] = fieldsOf(newApplicationFields('web', 'https://id.example.com'));
    t.strictSame([elsewhere?.name, elsewhere?.initial], ['redirect_uris', undefined]);
    const redirectUris = 'https://a.example/cb\nhttp://b.example/cb';
    const refused = await browser.submit(
      form,
      { name: 'Web', redirect_uris: redirectUris, scopes: 'openid' },
      'name="name"',
    );
    const sentence =
      /Redirect URI 2 must use https\. http is allowed for 127\.0\.0\.1, \[::1\] and localhost only\.(?!\.)/;
    t.match(textOf({ ...refused, html: alertOf(refused) ?? '' }), sentence);
    t.match(refused.html, /<textarea id="redirect_uris"[^>]* autofocus/);
    const several = {
      name: 'Web',
      redirect_uris: 'https://a.example/cb\r\n\r\nhttps://b c/cb\r\nhttp://d.example/cb',
      scopes: 'openid',
    };
    const field = /id="redirect_uris-problem">([^<]*)</.exec(
      (await browser.submit(form, several, 'name="name"')).html,
    )?.[1];
    t.match(
      field,
      /^Redirect URI 2 has a character that .* Redirect URI 3 must use https/,
      'a line is a URI',
    );
  });

  await t.test('an application is offered to somebody else, who accepts or declines', async (t) => {
    const form = await browser.get('/dashboard/applications/new?type=machine');
    const made = await browser.submit(form, { name: 'Gift', scopes: 'read:data' }, 'name="name"');
    const settings = await browser.get(made.url.pathname.replace('/credentials', ''));
    const refused = await browser.confirm(settings, '/transfer', { to: 'nobody', confirmation: 'Gift' });
    t.match(alertOf(refused), 'Enter an active user');
    const given = await browser.confirm(settings, '/transfer', {
      ...{ to: built.people.ann.id, confirmation: 'Gift' },
    });
    t.match(alertOf(given), 'Enter a user other than the owner.');

    const path = settings.url.pathname;
    await built.call('POST', '/kb/api/v1/users', 'admin', {
      ...{ username: 'tess', email: 'tess@example.org', password: 'correct horse battery' },
    });
    const tess = await built.signedIn('tess');
    const offer = () => browser.confirm(settings, '/transfer', { to: 'tess', confirmation: 'Gift' });
    t.match(noticeOf(await offer()), 'stays yours until the new owner accepts');
    t.match((await tess.browser.get('/dashboard/applications')).html, 'Applications offered to you');
    const offerPage = async () => {
      const { html } = await tess.browser.get('/dashboard/applications');
      return tess.browser.get(/\/dashboard\/transfers\/trf_\w+/.exec(html)?.[0] ?? '');
    };
    const first = await offerPage();
    t.match(
      textOf(first),
      /ann wants to transfer this application to you.*Gift.*read:data.*client_credentials/,
    );
    const declined = await tess.browser.submit(first, {}, '/decline');
    t.match(noticeOf(declined), 'You declined');
    t.notMatch(declined.html, 'Applications offered to you');
    t.equal((await tess.browser.get(first.url.pathname)).status, 404);

    const waiting = await offer();
    t.match(textOf(waiting), 'It stays yours until they accept.');
    const cancelled = await browser.submit(waiting, {}, '/transfer/cancel');
    t.match(noticeOf(cancelled), 'The offer is cancelled.');
    t.notMatch((await tess.browser.get('/dashboard/applications')).html, 'Applications offered to you');

    await offer();
    const accepted = await tess.browser.submit(await offerPage(), {}, '/accept');
    t.equal(accepted.url.pathname, path);
    t.match(noticeOf(accepted), 'The application is yours');
    t.equal((await browser.get(path)).status, 404, 'the old owner no longer sees it');
  });

  await t.test('lists are searched, and walked by cursor', async (t) => {
    for (const username of ['zoe1', 'zoe2', 'zo3']) {
      const body = { username, email: `${username}@example.org`, password: 'correct horse battery' };
      await built.call('POST', '/kb/api/v1/users', 'admin', body);
    }
    const rows = ({ html }: Page) =>
      [...html.matchAll(/<th scope="row">.*?<bdi>(.*?)<\/bdi>/gs)].map(([, name]) => name);
    const people = async (query: string) => rows(await admin.browser.get(`/dashboard/users?${query}`));
    t.same((await people('q=zoe')).sort(), ['zoe1', 'zoe2']);
    t.same(await people('q=ZOE2'), ['zoe2'], 'whatever the case');
    t.same(await people('q=zo3@ex'), ['zo3'], 'by address');
    t.same(await people(`q=${built.people.ann.id}`), ['ann'], 'by id');
    t.same(await people('role=admin'), ['admin']);
    t.same(await people('status=inactive'), []);
    const { html: list } = await admin.browser.get('/dashboard/users?role=admin');
    t.match(list, 'Last sign-in');
    t.equal(
      list.split('<tbody>')[1]?.match(/<time /g)?.length,
      2,
      'the times of the last sign-in and the creation',
    );
    const editor = await built.signedIn('editor');
    t.notMatch((await editor.browser.get('/dashboard/users')).html, 'Last sign-in', 'for admins only');
    t.match((await admin.browser.get('/dashboard/users?q=nobody')).html, 'Nothing matches this search.');

    for (let i = 0; i < 21; i += 1) {
      await built.call('POST', '/api/v1/items', 'admin', {
        name: `row ${String(i).padStart(2, '0')}`,
        value: i,
      });
    }
    const first = await admin.browser.get('/dashboard/items?q=row');
    t.match(first.html, '21 items found');
    t.equal(rows(first).length, 20);
    const next = /href="([^"]+)">Next page/.exec(first.html)?.[1]?.replaceAll('&amp;', '&') ?? '';
    t.match(next, 'q=row', 'the search is in the link');
    const second = await admin.browser.get(next);
    t.same(rows(second), ['row 20']);
    t.match(second.html, 'Previous page');
    t.match((await admin.browser.get('/dashboard/items?cursor=nonsense')).html, 'Items cannot be shown.');
  });

  await t.test('an item keeps its value to the letter', async (t) => {
    const value = '{"z": 1.50, "1": 123456789012345678901234567890}';
    const form = await browser.get('/dashboard/items/new');
    const refused = await browser.submit(form, { name: 'numbers', value: '{oops' }, 'name="value"');
    t.match(alertOf(refused), 'The value must be JSON');
    const saved = await browser.submit(form, { name: 'numbers', value }, 'name="value"');
    t.equal(saved.status, 200);
    t.ok(saved.html.includes(value.replaceAll('"', '&quot;')));
  });

  await t.test('an order is followed, and its status changed', async (t) => {
    const product = { name: 'Tea', price: 2.5, currency: 'EUR', stock: 9 };
    const { body: tea } = await built.call('POST', '/v2/products', 'admin', product);
    const order = { items: [{ product_id: tea.id, quantity: 2 }], currency: 'EUR' };
    const { body: placed } = await built.call('POST', '/v2/orders', 'ann', order);
    const page = await admin.browser.get(`/dashboard/orders/${placed.id}`);
    t.match(textOf(page), /Customer ann/);
    t.match(textOf(page), /Tea €2.50 2 €5.00/);
    const changed = await admin.browser.submit(page, { status: 'confirmed', note: HOSTILE }, '/status');
    t.equal(noticeOf(changed), 'The status of the order is changed.');
    t.notOk(changed.html.includes('<script>'));
    const own = await browser.get(`/dashboard/orders/${placed.id}`);
    t.match(own.html, 'Cancel order', 'the customer may cancel it');
    t.notMatch(own.html, 'Start processing');
  });

  await t.test('an admin finds a person, deactivates them, and reads it in the audit log', async (t) => {
    const target = await built.signedIn('editor');
    const id = built.people.editor.id;
    const page = await admin.browser.get(`/dashboard/users/${id}`);
    t.match(page.html, 'End all sessions');
    const done = await admin.browser.confirm(page, '/deactivate');
    t.match(noticeOf(done), 'The account is deactivated');
    t.match((await target.browser.get('/dashboard/items')).url.pathname, /^\/sign-in\//);
    const log = await admin.browser.get(`/dashboard/audit?subject=${id}&action=account.changed`);
    t.match(textOf(log), /Account deactivated .* admin editor the dashboard 127\.0\.0\.1/);
  });

  await t.test('lists are searched by people and applications as they are called', async (t) => {
    const name = 'Audited, twice';
    const application = { name, type: 'machine', scopes: ['read:data'] };
    const made = [];
    for (let i = 0; i < 2; i += 1) {
      made.push((await built.call('POST', '/api/v1/applications', 'ann', application)).body);
    }
    const { id } = built.people.ann;
    const pageOf = async (path: string, query: Record<string, string>) =>
      textOf(await admin.browser.get(`/dashboard/${path}?${new URLSearchParams(query)}`));
    const audit = (query: Record<string, string>) =>
      pageOf('audit', { action: 'application.created', ...query });
    for (const actor of [id, 'ann', 'ANN', 'ann@example.org', 'Ann@Example.org']) {
      t.match(await audit({ actor, client: name }), ' 2 entries found', actor);
      t.match(await pageOf('applications', { owner: actor, q: name }), ' 2 applications found', actor);
    }
    t.match(await audit({ subject: 'ann', client: name.toUpperCase() }), ' 2 entries found');
    t.match(await audit({ client: String(made[1]?.client_id) }), ' 1 entry found');
    t.match(await audit({ client: 'gatehouse-login' }), 'No entries found');
    const likeIds = {
      username: 'usr_zed',
      email: 'zed@example.org',
      password: 'correct horse',
      role: 'editor',
    };
    await built.call('POST', '/kb/api/v1/users', 'admin', likeIds);
    t.match(await pageOf('users', { q: 'usr_z' }), ' 1 user found');
    const creation = { action: 'account.created', subject: 'usr_zed' };
    await until(async () => / 1 entry found/.test(await pageOf('audit', creation)), 5000);
    await built.call('POST', '/api/v1/applications', 'ann', { ...application, name: 'app_zed' });
    t.match(await audit({ client: 'app_zed' }), ' 1 entry found');
    const { browser: developer } = await built.signedIn('ann');
    await built.call('POST', '/api/v1/applications', 'ann', {
      name: 'Own',
      type: 'machine',
      scopes: ['read:data'],
    });
    const own = async () => textOf(await developer.get('/dashboard/audit'));
    await until(async () => /Own/.test(await own()), 5000);
    t.match(await own(), /Application created .* ann .* Own/, 'developers see what was done to theirs');
    for (const [path, query, said] of [
      ['audit', { actor: 'nobody' }, 'There is no user with the username “nobody”.'],
      ['audit', { subject: 'an*' }, 'There is no user with the username “an*”.'],
      ['audit', { subject: 'x@example.org' }, 'There is no user with the email address “x@example.org”.'],
      ['audit', { subject: 'usr_ann' }, 'There is no user with the username “usr_ann”.'],
      ['audit', { client: 'Audited' }, 'There is no application with the name “Audited”.'],
      ['audit', { client: '..' }, 'There is no application with the name “..”.'],
      ['applications', { owner: 'nobody' }, 'There is no user with the username “nobody”.'],
    ] as const) {
      t.match(await pageOf(path, query), said);
    }
  });

  await t.test('the audit log has words for every action, and says what became of a role', async (t) => {
    const page = await admin.browser.get('/dashboard/audit');
    const [, choice = ''] = /<select [^>]*name="action"[^>]*>(.*?)<\/select>/s.exec(page.html) ?? [];
    const options = [...choice.matchAll(/<option value="([^"]+)"[^>]*>([^<]+)/g)];
    const document = (await (await fetch(`${base}/openapi/identity.json`)).json()) as {
      components: { schemas: { AuditEntry: { properties: { action: { enum: string[] } } } } };
    };
    const { action } = document.components.schemas.AuditEntry.properties;
    t.same(options.map(([, value]) => value).sort(), action.enum.toSorted());
    t.same(
      options.filter(([, value, text]) => value === text),
      [],
    );
    const id = built.people.ann.id;
    await admin.browser.submit(
      await admin.browser.get(`/dashboard/users/${id}`),
      { role: 'editor' },
      '/role',
    );
    const log = await admin.browser.get(`/dashboard/audit?subject=${id}&action=account.changed`);
    t.match(textOf(log), /Account changed .* Details? .*change role from user to editor/);
    await built.call('PUT', `/v2/users/${id}/role`, 'admin', { role: 'user' });
  });

  await t.test('somebody is invited, and the invitation revoked', async (t) => {
    const form = await admin.browser.get('/dashboard/invitations/new');
    const refused = await admin.browser.submit(form, { email: 'admin@example.org' }, 'name="email"');
    t.match([refused.status, textOf(refused)], [400, /Somebody with this address has an account/]);
    const machine = { name: 'Invited to', type: 'machine', scopes: ['read:data'] };
    const { body } = await built.call<{ client_id: string }>('POST', '/api/v1/applications', 'ann', machine);
    const sent = { email: 'new@example.org', role: 'editor', member_role: 'developer' };
    const unknown = await admin.browser.submit(form, { ...sent, application: 'Nothing' }, 'name="email"');
    t.match(
      [unknown.status, unknown.html],
      [400, /id="application-problem">[^<]*no application with the name/],
    );
    const alone = await admin.browser.submit(
      form,
      { ...sent, application: body.client_id, member_role: '' },
      'name="email"',
    );
    t.match(alone.html, /id="member_role-problem">Choose a role in the application\./);
    const odd = await admin.browser.submit(form, sent, 'name="email"');
    t.match(odd.html, /id="application-problem">Enter the application of this role/);
    t.match(
      (await admin.browser.get(form.url.pathname)).html,
      `<option value="${body.client_id}">Invited to</option>`,
      'applications are picked',
    );
    const joined = await admin.browser.submit(
      unknown,
      { ...sent, application: body.client_id },
      'name="email"',
    );
    t.equal(noticeOf(joined), 'The invitation is on its way.');
    t.match(textOf(joined), /Role editor Member of Invited to , as a developer/);
    t.match(joined.html, `/dashboard/applications/${body.client_id}`);
    await built.call('DELETE', `/api/v1/applications/${body.client_id}`, 'ann');
    t.notMatch(textOf(await admin.browser.get(joined.url.pathname)), 'Member of');
    const made = await admin.browser.submit(form, { email: 'new@example.org' }, 'name="email"');
    t.equal(noticeOf(made), 'The invitation is on its way.');
    t.match(textOf(await admin.browser.get('/dashboard/invitations')), 'new@example.org');
    const sentLog = await admin.browser.get('/dashboard/audit?action=invitation.created');
    t.match(textOf(sentLog), /Invitation sent .* new@example\.org /);
    t.match(sentLog.html, /audit\?action=invitation\.created&amp;from=(\S+)&amp;to=\1"[^>]*>Today</);
    const gone = await admin.browser.confirm(made, '/delete', { confirmation: 'new@example.org' });
    t.match(gone.url.pathname, '/dashboard/invitations');
    t.match(textOf(gone), /No invitations are waiting/);
  });

  await t.test('a registration token is shown once, used by a client, and revoked', async (t) => {
    const { browser } = admin;
    const form = await browser.get('/dashboard/registration-tokens/new');
    t.match(form.html, /name="machines" value="yes"(?! checked)/);
    const sent = { name: 'Pipeline', uses: '2', expires_in: '3600' };
    const refused = await browser.submit(form, { ...sent, uses: '0' }, 'name="uses"');
    t.match([refused.status, textOf(refused)], [400, /The number of uses must be at least 1/]);
    const made = await browser.submit(form, sent, 'name="uses"');
    t.equal(noticeOf(made), 'The registration token is created. Copy it now.');
    const [, token = ''] = /id="new-secret"[^>]*>([\w-]{43})</.exec(made.html) ?? [];
    const response = await fetch(`${base}/oauth2/register`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        client_name: 'Of the pipeline',
        redirect_uris: ['https://ci.example/callback'],
      }),
    });
    t.equal(response.status, 201);
    const again = await browser.get(made.url.pathname);
    t.notMatch(again.html, token);
    t.match(textOf(again), /Machines cannot register Uses left 1 /);
    const client = `/dashboard/applications/${((await response.json()) as { client_id: string }).client_id}`;
    const managed = await browser.get(client);
    t.match(textOf(managed), /This client manages its own registration/);
    const ended = await browser.submit(managed, {}, '/registration/end"');
    t.match(noticeOf(ended), /^The client no longer manages its own registration/);
    t.notMatch(textOf(ended), /This client manages/);
    const forMachines = { ...sent, name: 'Machines', machines: 'yes' };
    const other = await browser.submit(form, forMachines, 'name="uses"');
    t.match(textOf(other), /Machines may register/);
    await browser.confirm(other, '/delete', { confirmation: 'Machines' });
    t.match(textOf(await browser.get('/dashboard/registration-tokens')), 'Pipeline');
    t.match(textOf(await browser.get('/dashboard/applications')), 'Of the pipeline');
    const gone = await browser.confirm(again, '/delete', { confirmation: 'Pipeline' });
    t.equal(noticeOf(gone), 'The registration token is deleted.');
    t.match(textOf(gone), /You have no registration tokens yet/);
  });

  await t.test('an identity provider is added, changed without its secret, and removed', async (t) => {
    const kinds = await admin.browser.get('/dashboard/identity-providers/new');
    t.match(textOf(kinds), /OpenID Connect .*Google .*GitHub/);
    const form = await admin.browser.get('/dashboard/identity-providers/new?type=github');
    t.match(textOf(form), /example\.org \d of the \d newest addresses/, 'domains are proposed');
    const sent = { client_id: 'us', client_secret: 'a-secret-of-github' };
    const refused = await admin.browser.submit(form, { ...sent, sign_up: 'domains' }, 'name="client_secret"');
    t.match(
      [refused.status, textOf(refused)],
      [400, /The email domains must have at least one domain, as new accounts are for these only/],
    );
    const provider = { ...sent, preset: 'github', passwords: true };
    await built.call('POST', '/api/v1/identity-providers', 'admin', provider);
    const made = await admin.browser.get('/dashboard/identity-providers/github');
    t.match(textOf(made), '/sign-in/providers/github/callback');
    t.notMatch(made.html, 'a-secret-of-github');
    const saved = await admin.browser.submit(
      made,
      { label: 'GitHub of Acme', domains: 'example.org', 'domains.other': 'Acme.example', passwords: '' },
      'name="client_secret"',
    );
    t.equal(heading(saved), 'GitHub of Acme');
    for (const domain of ['example.org', 'acme.example'])
      t.match(saved.html, `name="domains" value="${domain}" checked`);
    t.match(saved.html, /id="passwords"(?![^>]*checked)/);
    t.match(saved.html, /id="client_id"[^>]*value="us"/, 'the rest stays');
    t.match(saved.html, /<details class="panel advanced"><summary>.*id="issuer"/s, 'a preset has its issuer');
    const local = { issuer: 'https://127.0.0.1:9/login/oauth', client_secret: 'another' };
    const moved = await admin.browser.submit(saved, local, 'name="client_secret"');
    const tested = await admin.browser.submit(moved, {}, '/test"');
    t.match(textOf(tested), /Its token endpoint .*: the host is not on the public internet\./);
    const asked = await admin.browser.get(`${saved.url.pathname}/turn-off`);
    t.match(textOf(asked), /Turn off “GitHub of Acme”\? .*No account is connected .* can use a password/);
    const off = await admin.browser.confirm(moved, '/turn-off');
    t.match([noticeOf(off), textOf(off)], [/^The identity provider is off\./, /Status off/]);
    const on = await admin.browser.submit(off, {}, '/turn-on"');
    t.match([noticeOf(on), textOf(on)], [/^The identity provider is on\./, /Status active/]);
    const gone = await admin.browser.confirm(on, '/delete', { confirmation: 'GitHub of Acme' });
    t.match(textOf(gone), /So far, people can sign in only with accounts of this deployment/);
  });

  await t.test('a resource is registered, changed and deleted', async (t) => {
    const form = await browser.get('/dashboard/resources/new');
    // A private address, from which nothing is fetched.
    const sent = { identifier: 'https://10.0.0.1/mcp', name: 'Calendar' };
    const machine = { name: 'Planner', type: 'machine', scopes: ['read:data'] };
    const { body: planner } = await built.call<{ client_id: string }>(
      'POST',
      '/api/v1/applications',
      'ann',
      machine,
    );
    const scopes = 'calendar:read Read your appointments\ncalendar:write Make appointments';
    const refused = await browser.submit(form, { ...sent, scopes: 'calendar:read' }, 'name="scopes"');
    t.equal(refused.status, 400, 'a scope without a description');
    const made = await browser.submit(form, { ...sent, scopes }, 'name="scopes"');
    t.match(textOf(made), sent.identifier);
    t.match(textOf(made), /Verified\s+Your own applications get tokens now\. Others do once/);
    t.match(textOf(made), 'GET https://10.0.0.1/.well-known/oauth-protected-resource/mcp');
    t.match(codeOf(made, 'metadata'), `"resource": "${sent.identifier}"`);
    const checked = await browser.submit(made, {}, '/verify"');
    t.match(
      [checked.status, textOf(checked)],
      [400, /The metadata of the resource could not be read at https:/],
    );
    const applications = { applications: planner.client_id, 'applications.other': 'app_of_another' };
    const saved = await browser.submit(made, { name: 'Dates', scopes, ...applications }, 'name="scopes"');
    t.equal(heading(saved), 'Dates');
    t.match(saved.html, /calendar:write Make appointments/, 'the rest stays');
    t.match(saved.html, `value="${planner.client_id}" checked`);
    t.match(saved.html, 'value="app_of_another" checked', 'that of somebody else');
    t.match(textOf(saved), `Planner ${planner.client_id}`, 'applications are picked by name');
    const gone = await browser.confirm(saved, '/delete', { confirmation: 'Dates' });
    t.match(textOf(gone), /There are no APIs yet/);
  });

  await t.test('signing keys are rotated', async (t) => {
    const page = await admin.browser.get('/dashboard/signing-keys');
    const soon = await admin.browser.confirm(page, '/rotate');
    t.equal(soon.status, 400, 'the next key has only just been published');
    const current = /name="kid" value="([^"]+)"/.exec(soon.html)?.[1] ?? '';
    const rotated = await admin.browser.confirm(page, '/rotate', { kid: current, force: 'yes' });
    t.equal(noticeOf(rotated), 'The signing keys are rotated.');
  });

  await t.test(
    'what a deployment does not have says so, and what is not for somebody is a page',
    async (t) => {
      for (const path of ['/notifications', '/dead-letters', '/reports']) {
        const page = await admin.browser.get(`/dashboard${path}`);
        t.equal(page.status, 200, path);
        t.match(page.html, 'This deployment does not have this part of the API.', path);
      }
      t.match((await browser.get('/dashboard')).html, 'This deployment does not have this part of the API.');
      for (const path of ['/users']) {
        const page = await browser.get(`/dashboard${path}`);
        t.equal(page.status, 403, path);
        t.equal(heading(page), 'Access denied', path);
      }
      for (const path of ['/items/itm_nothing', '/applications/app_x', '/orders/x', '/users/x', '/nothing']) {
        const page = await admin.browser.get(`/dashboard${path}`);
        t.equal(page.status, 404, path);
        t.match(page.headers.get('content-type'), 'text/html', path);
      }
    },
  );

  await t.test('texts of people and developers never become markup', async (t) => {
    const item = await built.call('POST', '/api/v1/items', 'ann', { name: HOSTILE, value: HOSTILE });
    const product = {
      name: HOSTILE,
      category: HOSTILE.slice(0, 90),
      description: HOSTILE,
      sku: 'x<b>',
      price: 1,
      currency: 'EUR',
    };
    const { body: made } = await built.call('POST', '/v2/products', 'admin', product);
    const application = { name: HOSTILE, type: 'machine', scopes: ['read:data'] };
    const { body: app } = await built.call('POST', '/api/v1/applications', 'ann', application);
    await built.call('POST', `/api/v1/applications/${app.client_id}/api-keys`, 'ann', {
      name: HOSTILE,
      scopes: ['read:data'],
    });
    await built.call('PUT', `/v2/users/${built.people.ann.id}`, 'ann', {
      profile: { first_name: HOSTILE, last_name: HOSTILE },
    });
    t.equal(item.status, 201);
    const { body: items } = await built.call<{ data: { id: string }[] }>(
      'GET',
      '/api/v1/items?cursor=',
      'ann',
    );
    const itemId = items.data.at(-1)?.id;
    const query = new URLSearchParams({
      q: HOSTILE,
      status: HOSTILE,
      kind: HOSTILE,
      subject: HOSTILE,
      from: HOSTILE,
    });
    const pages = [
      ...['/items', `/items/${itemId}`, '/products', `/products/${made.id}`, '/applications'],
      ...['', '/credentials', '/quick-start', '/profiles', '/members', '/usage'].map(
        (it) => `/applications/${app.client_id}${it}`,
      ),
      ...[`/users/${built.people.ann.id}`, '/audit'],
      ...['/items', '/products', '/orders', '/users', '/audit', '/applications'].map(
        (it) => `${it}?${query}`,
      ),
    ];
    const again = await built.signedIn('admin');
    for (const path of pages) {
      const { html } = await again.browser.get(`/dashboard${path}`);
      t.notOk(/<script>|<img/.test(html), path);
      t.equal(
        html.match(/<script\b/g)?.length ?? 0,
        html.match(/<script defer src="\/dashboard\/assets\//g)?.length,
        path,
      );
    }
    const signedIn = await built.signedIn('ann');
    t.notOk(signedIn.page.html.includes('<script>'), 'the own name in the header');
  });

  await t.test('the page at / is for people and for programs', async (t) => {
    const page = await browser.get('/');
    t.equal(heading(page), 'Sign-in and an API in one place');
    t.match(page.html, 'href="/dashboard"');
    const [, signUp = ''] = /<a [^>]*href="([^"]*)">Sign up</.exec(page.html) ?? [];
    t.equal(heading(await built.browser().get(signUp)), 'Create an account');
    t.notMatch(landingPage({ publicUrl: base, signUp: false }), 'Sign up', 'where nobody may');
    const response = await fetch(`${base}/`, { headers: { accept: '*/*' } });
    t.match(response.headers.get('vary'), /accept/i);
    t.match(await response.json(), { name: 'Gatehouse', links: [{ href: '/dashboard' }] });
  });
});

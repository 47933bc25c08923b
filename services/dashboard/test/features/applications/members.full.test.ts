import t from 'tap';
import { build, heading, textOf } from '../../build.ts';

const built = await build(t);
const { browser: ann } = await built.signedIn('ann');
const { browser: bob } = await built.signedIn('editor');

const form = await ann.get('/dashboard/applications/new?type=machine');
const made = await ann.submit(form, { name: 'Shared', scopes: 'read:data' }, 'name="name"');
const path = `/dashboard/applications/${made.url.pathname.split('/')[3]}`;

const API = '/api/v1/applications';
const join = async (id: string, role: string) => {
  await built.call('POST', `${API}/${id}/members`, 'ann', { user: 'editor', role });
  t.equal((await built.call('POST', `/api/v1/memberships/${id}/accept`, 'editor')).status, 204);
};
const accept = async () => {
  const list = await bob.get('/dashboard/applications');
  t.match(textOf(list), /Invitations to applications Shared , as a viewer, [^.]* A viewer sees its settings/);
  const first = await bob.get('/dashboard');
  t.match(textOf(first), /You are an editor.* Invitations to applications Shared /);
  t.match(textOf(await ann.get('/dashboard')), /You manage your own data and applications\./);
  return bob.submit(list, {}, '/accept"');
};

t.test('an empty list has the link of other lists, and one sentence', async (t) => {
  const page = await bob.get('/dashboard/applications');
  t.equal(page.html.split('New application').length, 3);
  t.match(textOf(page), /You have no applications yet/);
  t.notMatch(textOf(page), /No applications/);
});

t.test('the owner invites a member, who sees and does what the role allows', async (t) => {
  t.equal((await bob.get(path)).status, 404);
  const empty = await ann.get(`${path}/members`);
  t.match(textOf(empty), /There are no members yet/);
  const refused = await ann.submit(empty, { user: 'nobody-here', role: 'viewer' }, 'name="user"');
  t.match([refused.status, textOf(refused)], [400, /No active account has this username/]);
  t.match(refused.html, /value="nobody-here"/, 'what was typed is kept');
  const added = await ann.submit(empty, { user: 'editor', role: 'viewer' }, 'name="user"');
  t.match(
    textOf(added),
    /The person is invited, and gets a mail if their address is confirmed\..*editor Viewer Invited/,
  );

  t.equal((await bob.get(path)).status, 404, 'an invitation gives nothing yet');
  const declined = await bob.submit(await bob.get('/dashboard/applications'), {}, '/decline"');
  t.match(textOf(declined), /You declined the invitation/);
  t.notMatch(textOf(declined), /Invitations to applications/);
  await ann.submit(empty, { user: 'editor', role: 'viewer' }, 'name="user"');
  const joined = await accept();
  t.match([joined.url.pathname, textOf(joined)], [path, /You are a member of the application now/]);
  t.notMatch(textOf(await ann.get(`${path}/members`)), /Viewer Invited/);

  t.match(
    textOf(await bob.get('/dashboard/applications')),
    / Your role .* Shared \S+ Secrets and keys machine viewer /,
  );
  t.match(textOf(await ann.get('/dashboard/applications')), / Shared \S+ Secrets and keys machine owner /);
  const seen = await bob.get(path);
  t.equal(seen.status, 200);
  t.notMatch(textOf(seen), /Transfer application|Delete application/);
  const members = await bob.get(`${path}/members`);
  t.match(
    textOf(members),
    /You are a viewer of this application.* Owner: ann .* Credentials End membership /,
  );
  t.notMatch(textOf(members), /Remove/);
  t.notMatch(members.html, /name="user"/);
  t.match(textOf(seen), /You are a viewer of this application/);
  for (const part of ['', '/credentials', '/users', '/members', '/profiles', '/usage']) {
    const { html } = await bob.get(`${path}${part}`);
    const main = /<main[\s\S]*<\/main>/.exec(html)?.[0] ?? '<form';
    t.notMatch(main, /<form|class="button danger"(?![^>]*Leave)/, `no form of ${part} would be refused`);
  }
  t.match(textOf(await bob.get(`${path}/credentials`)), /Its owner and its developers create and remove/);

  const promoted = await ann.submit(added, { user: 'editor', role: 'developer' }, 'name="user"');
  t.match(textOf(promoted), /The member has this role now.*editor Developer/);
  const changed = await bob.submit(await bob.get(path), { name: 'Ours' }, 'name="name"');
  t.match([changed.status, heading(changed)], [200, 'Ours']);
});

t.test('developers have a form with what they may change, and see the rest', async (t) => {
  const settings = {
    ...{ name: 'Site', type: 'web', scopes: ['openid', 'email'], redirect_uris: ['https://a.example/back'] },
    backchannel_logout_uri: 'https://a.example/out',
  };
  const { body: site } = await built.call<{ client_id: string }>('POST', API, 'ann', settings);
  await join(site.client_id, 'developer');
  const page = await bob.get(`/dashboard/applications/${site.client_id}`);
  t.match(textOf(page), /Redirect URIs https:\/\/a\.example\/back .*Back-channel logout URI https/);
  const fields = [...page.html.matchAll(/<(?:input|select|textarea)[^>]* name="(\w+)"/g)].map(([, it]) => it);
  t.strictSame(
    new Set(fields.filter((it) => !/^(?:csrf|shown|q|sent|_)/.test(it ?? ''))),
    new Set(['scopes']),
  );
  const look = {
    name: 'Our site',
    primary_color: '#7a1fa2',
    tos_uri: 'https://a.example/t',
  };
  await bob.submit(page, { scopes: 'openid' }, 'name="scopes"');
  const saved = await bob.submit(await bob.get(`${page.url.pathname}/branding`), look, 'name="name"');
  t.match([saved.status, heading(saved), textOf(saved)], [200, 'Our site', /The branding is saved/]);
  const after = await built.call('GET', `${API}/${site.client_id}`, 'ann');
  t.match(after.body, { ...settings, name: 'Our site', scopes: ['openid'], primary_color: '#7a1fa2' });
});

t.test('members leave and are removed after a question', async (t) => {
  const link =
    /href="([^"]*\/members\/[^"]*\/remove)"/.exec((await bob.get(`${path}/members`)).html)?.[1] ?? '';
  const question = await bob.get(link);
  t.match(heading(question), /^Leave “(<bdi>)?Ours/);
  const left = await bob.submit(question, {}, '/remove"');
  t.match([left.url.pathname, textOf(left)], ['/dashboard/applications', /no longer a member/]);
  t.equal((await bob.get(path)).status, 404);

  const id = path.split('/')[3] ?? '';
  await join(id, 'developer');
  const key = (name: string) =>
    built.call<{ id: string }>('POST', `${API}/${id}/api-keys`, 'editor', { name, scopes: ['read:data'] });
  const [kept, ended] = [await key('nightly'), await key('hourly')];
  const members = await ann.get(`${path}/members`);
  const asked = await ann.get(/href="([^"]*\/members\/[^"]*\/remove)"/.exec(members.html)?.[1] ?? '');
  t.match(
    textOf(asked),
    /no longer sees the application\. .*that you tick keep working.* nightly API key …[\w-]{4}, created [^,]*,[^,]*, never used hourly API key .* still knows the credentials that you take over: replace them\. Other secrets/,
  );
  const removed = await ann.submit(asked, { take_over: kept.body.id }, '/remove"');
  t.match(textOf(removed), /The member is removed.*There are no members yet/);
  await join(id, 'developer');
  await key('weekly');
  const leave = await bob.get(`${path}/members/${built.people.editor.id}/remove`);
  t.match(
    textOf(leave),
    /stop working at once: API key weekly To keep them working, ask the owner/,
    'a member sees what ends',
  );
  t.notMatch(leave.html, 'take_over');
  const { body } = await built.call<{ data: { id: string }[] }>('GET', `${API}/${id}/api-keys`, 'ann');
  t.match(
    body.data.map((it) => it.id),
    [kept.body.id],
  );
  t.equal(
    body.data.some((it) => it.id === ended.body.id),
    false,
    'the other key has ended',
  );
});

t.test('the owner withdraws an invitation, and reads nothing about credentials then', async (t) => {
  const { body } = await built.call<{ client_id: string }>('POST', API, 'ann', {
    ...{ name: 'Other', type: 'machine', scopes: ['read:data'] },
  });
  await built.call('POST', `${API}/${body.client_id}/members`, 'ann', { user: 'editor', role: 'developer' });
  const members = await ann.get(`/dashboard/applications/${body.client_id}/members`);
  t.match(textOf(members), /Invited .* Withdraw/);
  const asked = await ann.get(/href="([^"]*\/members\/[^"]*\/remove)"/.exec(members.html)?.[1] ?? '');
  t.equal(heading(asked), 'Withdraw the invitation of editor to “Other”?');
  t.notMatch(textOf(asked), /secret|API key|Remove member/);
  const withdrawn = await ann.submit(asked, {}, '/remove"');
  t.match(textOf(withdrawn), /The invitation is withdrawn.*There are no members yet/);
});

t.test('a developer becomes a viewer after a question about the credentials', async (t) => {
  const { body: app } = await built.call<{ client_id: string }>('POST', API, 'ann', {
    ...{ name: 'Jobs', type: 'machine', scopes: ['read:data'] },
  });
  const [api, page] = [`${API}/${app.client_id}`, `/dashboard/applications/${app.client_id}/members`];
  const { id } = built.people.editor;
  const listed = async () => {
    const { body } = await built.call<{ data: { role: string; credentials: { id: string }[] }[] }>(
      ...(['GET', `${api}/members`, 'ann'] as const),
    );
    return body.data.map(({ role, credentials }) => [role, credentials.length]);
  };
  const invite = async (user: string, role = 'viewer') =>
    ann.submit(await ann.get(page), { user, role }, 'name="user"');
  await invite('editor', 'developer');
  t.match(textOf(await invite('editor')), /The person is invited/, 'an invitation has no credentials');
  await join(app.client_id, 'developer');
  const address = 'someone@example.org';
  t.match((await invite(address)).status, 400, 'no developer has a credential');
  await built.call('POST', `${api}/api-keys`, 'editor', { name: 'nightly', scopes: ['read:data'] });
  await built.call('POST', `${api}/secrets`, 'editor', {});
  const listing = / Client secret …[\w-]{4} created [^,]*,[^,]*, never used nightly API key …/;
  const make = 'Make editor a viewer of “Jobs”?';
  const credentials = await ann.get(page.replace('members', 'credentials'));
  t.match(textOf(credentials), /…[\w-]{4} .* by editor .* nightly .* by editor /);
  t.equal(credentials.html.match(/>by <bdi>/g)?.length, 2, 'and not the first secret, of the owner');
  t.match(textOf(await ann.get(page)), / editor Developer .* 2 Remove /);
  const questions = [
    ['editor', make, listing],
    [' EDITOR', make, listing],
    [id, make, listing],
    [
      address,
      `Invite ${address} as a viewer of “Jobs”?`,
      /the address of a developer below.* editor : 2 credentials /,
    ],
  ] as const;
  for (const [user, title, text] of questions) {
    const asked = await invite(user);
    t.equal(asked.status, 200);
    t.equal(heading(asked), title);
    t.match(textOf(asked), text);
    t.strictSame(await listed(), [['developer', 2]], 'nothing has changed');
  }
  t.match(textOf(await invite('nobody-here')), /No active account has this username/);
  t.match(textOf(await invite('editor', 'developer')), /The member has this role now/);
  const done = await ann.submit(await invite('editor'), {}, 'confirmation');
  t.match([done.url.pathname, textOf(done)], [page, /The member has this role now.*editor Viewer/]);
  t.strictSame(await listed(), [['viewer', 0]]);
});

t.test('the audit log names the member as the object', async (t) => {
  const { browser: admin } = await built.signedIn('admin');
  for (const [action, row] of [
    ['member.added', /given another role \d+ \w+ \d+, [\d:]+ ann editor Jobs /],
    ['member.removed', /removed from an application \d+ \w+ \d+, [\d:]+ ann editor Other /],
    ['member.accepted', /application accepted \d+ \w+ \d+, [\d:]+ editor Jobs Jobs /],
  ] as const) {
    t.match(textOf(await admin.get(`/dashboard/audit?action=${action}`)), row, action);
  }
});

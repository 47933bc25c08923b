import t from 'tap';
import { build, heading, textOf } from '../../build.ts';

const built = await build(t);
const { browser: ann } = await built.signedIn('ann');
const { browser: bob } = await built.signedIn('editor');

const form = await ann.get('/dashboard/applications/new?type=machine');
const made = await ann.submit(form, { name: 'Shared', scopes: 'read:data' }, 'name="name"');
const path = `/dashboard/applications/${made.url.pathname.split('/')[3]}`;

t.test('the owner adds a member, who sees and does what the role allows', async (t) => {
  t.equal((await bob.get(path)).status, 404);
  const empty = await ann.get(`${path}/members`);
  t.match(textOf(empty), /There are no members yet/);
  const refused = await ann.submit(empty, { user: 'nobody-here', role: 'viewer' }, 'name="user"');
  t.match([refused.status, textOf(refused)], [400, /No active account has this username/]);
  t.match(refused.html, /value="nobody-here"/, 'what was typed is kept');
  const added = await ann.submit(empty, { user: 'editor', role: 'viewer' }, 'name="user"');
  t.match(textOf(added), /The member has this role now.*editor Viewer/);

  t.match(textOf(await bob.get('/dashboard/applications')), /Shared/);
  const seen = await bob.get(path);
  t.equal(seen.status, 200);
  t.notMatch(textOf(seen), /Transfer application|Delete application/);
  const members = await bob.get(`${path}/members`);
  t.match(textOf(members), /You are a viewer of this application/);
  t.notMatch(members.html, /name="user"/);
  t.match(textOf(seen), /You are a viewer of this application/);
  for (const part of ['', '/credentials', '/users', '/members', '/profiles', '/usage']) {
    const { html } = await bob.get(`${path}${part}`);
    const main = /<main[\s\S]*<\/main>/.exec(html)?.[0] ?? '<form';
    t.notMatch(main, /<form|class="button danger"(?![^>]*Leave)/, `no form of ${part} would be refused`);
  }
  t.match(textOf(await bob.get(`${path}/credentials`)), /Its owner and its developers create and remove/);

  await ann.submit(added, { user: 'editor', role: 'developer' }, 'name="user"');
  const changed = await bob.submit(await bob.get(path), { name: 'Ours' }, 'name="name"');
  t.match([changed.status, heading(changed)], [200, 'Ours']);
});

t.test('members leave and are removed after a question', async (t) => {
  const link =
    /href="([^"]*\/members\/[^"]*\/remove)"/.exec((await bob.get(`${path}/members`)).html)?.[1] ?? '';
  const question = await bob.get(link);
  t.match(heading(question), /^Leave “(<bdi>)?Ours/);
  const left = await bob.submit(question, {}, '/remove"');
  t.match([left.url.pathname, textOf(left)], ['/dashboard/applications', /no longer a member/]);
  t.equal((await bob.get(path)).status, 404);

  const added = await ann.submit(
    await ann.get(`${path}/members`),
    { user: 'editor', role: 'developer' },
    'name="user"',
  );
  const asked = await ann.get(/href="([^"]*\/members\/[^"]*\/remove)"/.exec(added.html)?.[1] ?? '');
  t.match(textOf(asked), /Secrets and API keys that editor knows keep working/);
  const removed = await ann.submit(asked, {}, '/remove"');
  t.match(textOf(removed), /The member is removed.*There are no members yet/);
});

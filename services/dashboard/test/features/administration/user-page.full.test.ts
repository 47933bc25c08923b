import { inputsOf, inSnakeCase } from '@gatehouse/domain/fields';
import { USER_INPUTS } from '@gatehouse/domain/user-inputs';
import { formsOf } from '@gatehouse/testing/form-browser';
import t from 'tap';
import { build, heading, textOf } from '../../build.ts';

const built = await build(t);
const { browser: admin } = await built.signedIn('admin');
const { id } = built.people.ann;
const PAGE = `/dashboard/users/${id}`;
const EDIT = `action="${PAGE}"`;
const NEW: Record<string, string> = {
  // First: until there is one, it follows the others.
  name: 'Anna Maria Lee',
  ...{ username: 'anna', email: 'anna@example.org', phone: '+49 30 7654321' },
  ...{ first_name: 'Anna', last_name: 'Lee', locale: 'de-AT', zoneinfo: 'Europe/Vienna' },
};

t.test('every field that is declared can be changed, and nothing else changes', async (t) => {
  const declared = inputsOf(USER_INPUTS).map(({ name }) => inSnakeCase(name));
  t.same(Object.keys(NEW).sort(), declared.sort());
  for (const [field, value] of Object.entries(NEW)) {
    const page = await admin.get(PAGE);
    const before = formsOf(page.html).find(({ action }) => action === PAGE)?.fields;
    const saved = await admin.submit(page, { [field]: value }, EDIT);
    t.match(textOf(saved), /The user is saved/, field);
    const {
      shown: _,
      csrf: __,
      ...now
    } = formsOf(saved.html).find(({ action }) => action === PAGE)?.fields ?? {};
    const { shown: ___, csrf: ____, ...then } = before ?? {};
    t.same(now, { ...then, [field]: value }, field);
  }
  const { body } = await built.call('GET', `/v2/users/${id}`);
  const { name: _, username, email, ...profile } = NEW;
  t.match(body, { username, email, profile });
  await admin.submit(await admin.get(PAGE), { username: 'ann', email: 'ann@example.org', phone: '' }, EDIT);
  t.notMatch((await built.call('GET', `/v2/users/${id}`)).body, { profile: { phone: String } });
});

t.test('a refused value is said once, at its field, and the others stay', async (t) => {
  for (const [field, value, message] of [
    ['phone', 'none', /must be a phone number such as/],
    ['zoneinfo', 'Vienna', /must be a time zone such as/],
    ['username', 'editor', /taken|in use|already/],
    ['email', 'ann', /must be a valid email address/],
  ] as const) {
    const refused = await admin.submit(await admin.get(PAGE), { [field]: value, first_name: 'Kept' }, EDIT);
    t.equal(refused.status >= 400, true, field);
    const [, said = ''] = new RegExp(`id="${field}-problem">([^<]*)<`).exec(refused.html) ?? [];
    t.match(said, message);
    t.equal(refused.html.split(said).length, 2, 'once');
    t.match(refused.html, new RegExp(`id="${field}"[^>]* autofocus`));
    t.match(refused.html, 'value="Kept"');
  }
  const both = await admin.submit(await admin.get(PAGE), { phone: 'none', email: 'ann' }, EDIT);
  t.match(both.html, /<a href="#email">.*<a href="#phone">/s, 'several are listed, with links');
  t.notMatch(both.html, ' autofocus');
});

t.test(
  'the page shows the last sign-in and the applications, which the question before a deletion names',
  async (t) => {
    await built.signedIn('ann');
    const create = async (username: string, name: string) => {
      const made = { name, type: 'machine', scopes: ['read:data'] };
      return (await built.call<{ client_id: string }>('POST', '/api/v1/applications', username, made)).body
        .client_id;
    };
    const own = await create('ann', 'Tea <b>');
    const other = await create('editor', 'Coffee');
    const member = { user: id, role: 'viewer' };
    await built.call('POST', `/api/v1/applications/${other}/members`, 'editor', member);
    const page = await admin.get(PAGE);
    t.match(textOf(page), /Last sign-in 20\d\d|Last sign-in \d/);
    t.match(page.html, new RegExp(`/dashboard/applications/${own}".*?Tea &lt;b&gt;.*?owner`, 's'));
    t.match(page.html, new RegExp(`/dashboard/applications/${other}".*?Coffee.*?viewer.*?invited`, 's'));
    t.match(textOf(await admin.get(`${PAGE}/delete`)), /These applications stop working: Tea &lt;b&gt;/);
    const memberships = `/api/v1/memberships?user_id=${id}`;
    t.match((await built.call('GET', memberships)).body, { data: [{ client_id: other, status: 'invited' }] });
    t.equal((await built.call('GET', memberships, 'editor')).status, 403);
    t.equal((await built.call('GET', '/api/v1/memberships?user_id=usr_nobody')).status, 404);
  },
);

t.test('editors change nobody, and admins change themselves in their account', async (t) => {
  const { browser: editor } = await built.signedIn('editor');
  t.notMatch((await editor.get(PAGE)).html, EDIT);
  const own = await admin.get(`/dashboard/users/${built.people.admin.id}`);
  t.notMatch(own.html, `action="/dashboard/users/${built.people.admin.id}"`);
  t.match(own.html, 'page <a href="/account">Profile</a>');
});

t.test('the heading is the name, with the actions beside it, and the sessions come first', async (t) => {
  const { id: editorId } = built.people.editor;
  const path = `/dashboard/users/${editorId}`;
  await built.call('PATCH', `/v1/users/${editorId}`, 'admin', { name: 'Eddie Torre' });
  const page = await admin.get(path);
  t.equal(heading(page), 'Eddie Torre');
  t.match(textOf(page), /Username editor Email editor@example\.org confirmed/);
  const [, actions = ''] = /class="actions">(.*?)<\/div>/s.exec(page.html) ?? [];
  t.match(actions, /Send a link for a new password.*Deactivate \(block\) account/s);
  const headings = [...page.html.replace(/^.*<main/s, '').matchAll(/<h2>(.*?)<\/h2>/g)].map(([, it]) => it);
  t.equal(headings[0], 'Sessions');
  t.notMatch(page.html, 'class="empty"', 'empty lists are one line');
  const off = await admin.confirm(page, '/deactivate');
  t.match(off.html, /class="actions"><form.*?Activate account/s);
  t.notMatch(off.html, '/password-reset', 'nobody can sign in to it');

  const fresh = { username: 'newbie', email: 'newbie@example.org', password: 'correct horse battery' };
  const { body } = await built.call<{ id: string }>('POST', '/v2/users', 'admin', fresh);
  t.match(textOf(await admin.get(`/dashboard/users/${body.id}`)), /newbie@example\.org not confirmed/);
});

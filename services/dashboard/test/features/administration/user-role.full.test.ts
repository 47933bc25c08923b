import t from 'tap';
import { build, heading, textOf } from '../../build.ts';

const built = await build(t);
const { browser: admin } = await built.signedIn('admin');
const { id } = built.people.ann;
const PAGE = `/dashboard/users/${id}`;
const roleOf = async () => {
  const { body } = await built.call<{ data: { role: string }[] }>(
    ...(['GET', `/kb/api/v1/users?cursor=&filter[id]=${id}`] as const),
  );
  return body.data[0]?.role;
};

const CHANGES: readonly [from: string, to: string, question?: RegExp][] = [
  ['user', 'editor'],
  ['editor', 'admin', /can then manage all data, users and settings/],
  ['admin', 'editor', /Set-up links and invitations that ann created end\. Offers .* the trust in them/],
  ['editor', 'user', /new role allows, from now on\. Offers of their applications end/],
  ['user', 'user'],
];
for (const [from, to, question] of CHANGES) {
  t.test(`${from} to ${to} ${question === undefined ? 'applies at once' : 'asks first'}`, async (t) => {
    const sent = await admin.submit(await admin.get(PAGE), { role: to }, `${PAGE}/role"`);
    if (question !== undefined) {
      t.equal(heading(sent), `Give ann the role ${to}?`);
      t.match(textOf(sent), question);
      t.equal(await roleOf(), from, 'nothing has changed');
    }
    const done =
      question === undefined ? sent : await admin.submit(sent, { confirmation: 'yes' }, `${PAGE}/role"`);
    t.match([done.url.pathname, textOf(done)], [PAGE, /The role is changed/]);
    t.equal(await roleOf(), to);
  });
}

t.test(
  'the questions that end an admin’s trust in applications name them, and another admin takes them over',
  async (t) => {
    await built.call('PUT', `/v2/users/${id}/role`, 'admin', { role: 'admin' });
    const machine = { name: 'Nightly <b>', type: 'machine', scopes: ['read:data'] };
    const { body } = await built.call<{ client_id: string }>(
      'POST',
      '/api/v1/applications',
      'admin',
      machine,
    );
    const path = `/api/v1/applications/${body.client_id}`;
    await built.call('PATCH', path, 'ann', { trusted: true });
    const NAMED = /The trust that ann granted ends.*Nightly &lt;b&gt;/;
    const lowered = await admin.submit(await admin.get(PAGE), { role: 'user' }, `${PAGE}/role"`);
    for (const page of [lowered, await admin.get(`${PAGE}/deactivate`), await admin.get(`${PAGE}/delete`)]) {
      t.match(textOf(page), NAMED);
    }
    const asked = await admin.get(`/dashboard/applications/${body.client_id}/take-over-trust`);
    const done = await admin.submit(asked, { confirmation: 'yes' }, 'take-over-trust"');
    t.match(textOf(done), /Trust was granted by admin/);
    t.notMatch(textOf(await admin.get(`${PAGE}/deactivate`)), NAMED);
    await built.call('PUT', `/v2/users/${id}/role`, 'admin', { role: 'user' });
    t.match(await built.call('GET', path, 'admin'), { body: { trusted: true } });
  },
);

t.test('the question keeps what was shown: a change in the meantime is not overwritten', async (t) => {
  const asked = await admin.submit(await admin.get(PAGE), { role: 'admin' }, `${PAGE}/role"`);
  await built.call('PUT', `/v2/users/${id}/role`, 'admin', { role: 'editor' });
  t.equal((await admin.submit(asked, { confirmation: 'yes' }, `${PAGE}/role"`)).status, 409);
  t.equal(await roleOf(), 'editor');
  const shown = await admin.get(PAGE);
  await built.call('PUT', `/v2/users/${id}/role`, 'admin', { role: 'user' });
  await admin.submit(shown, { role: 'editor' }, `${PAGE}/role"`);
  t.equal(await roleOf(), 'user', 'a role that was not changed is not sent');
});

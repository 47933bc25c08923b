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

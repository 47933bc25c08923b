import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { build } from '../../build.ts';
import { mailsOf } from '../../pages.ts';

const built = await build(t);
const { call } = built;
for (const name of ['olga', 'dev']) await built.createPerson(name);
const owner = await built.login('olga');
const developer = await built.login('dev');
const admin = await built.login('admin');
const APPLICATIONS = '/api/v1/applications';
const MACHINE = { type: 'machine', scopes: ['read:data'] };

async function accept(id: unknown, token: string): Promise<void> {
  const { status } = await call('POST', `/api/v1/memberships/${id}/accept`, token);
  if (status !== 204) throw new Error(`the invitation was not accepted: ${status}`);
}
/** An application of the owner. */
async function owned(name: string, token = owner) {
  const { client_id: id } = await built.createApplication(token, { name, ...MACHINE });
  return { id, path: `${APPLICATIONS}/${id}` };
}

/** An admin whose role a test lowers. */
async function deputy(name: string) {
  const id = await built.createPerson(name, 'admin');
  const setRole = (role: string) => call('PUT', `/v2/users/${id}/role`, admin, { role });
  return { name, id, token: await built.login(name), setRole };
}
const invite = (path: string, by: string, user: string, role = 'developer') =>
  call('POST', `${path}/members`, by, { user, role });

t.test('credentials that an admin took over end with the admin’s role, and the owner is told', async (t) => {
  const ann = await built.login('ann');
  const { id, path } = await owned('Taken over', ann);
  await invite(path, ann, 'dev');
  await accept(id, developer);
  const x = await deputy('taker');
  const key = (await call('POST', `${path}/api-keys`, developer, { name: 'k', scopes: ['read:data'] })).body;
  const secret = (await call('POST', `${path}/secrets`, developer, {})).body;
  const [member] = (await call('GET', `${path}/members`, ann)).body.data as { user_id: string }[];
  const remove = `${path}/members/${member?.user_id}?take_over=${key.id},${secret.id}`;
  t.equal((await call('DELETE', remove, x.token)).status, 204);
  const client = { client_id: id, client_secret: String(secret.client_secret) };
  const issued = async () =>
    (await built.form({ grant_type: 'client_credentials', ...client })).body.access_token;
  const works = async (token: unknown) =>
    (await call('GET', '/api/v1/auth/permissions', String(token))).status === 200;
  const token = await issued();
  t.same([await works(key.api_key), await works(token)], [true, true]);
  await x.setRole('user');
  t.same([await works(key.api_key), await works(token)], [false, false]);
  await x.setRole('admin');
  t.same([await works(key.api_key), await issued()], [false, undefined], 'nor later');
  await until(
    async () => (await mailsOf(built)).some((mail) => /took over credentials.*“Taken over”/.test(mail)),
    5000,
  );
});

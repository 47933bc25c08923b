import t from 'tap';
import { hashSecret } from '../../../src/core/applications/application.ts';
import { buildApi, WEB } from '../../applications-api.ts';

const api = await buildApi(t);
const { call, make, applications } = api;

t.test('who can keep no secret is given none', async (t) => {
  const native = { ...WEB, type: 'native', redirect_uris: ['com.example.app:/cb', 'http://127.0.0.1/cb'] };
  for (const body of [{ ...WEB, type: 'spa' }, native]) {
    const { id, secret } = await make(body);
    t.equal(secret, 'undefined');
    t.match((await call('GET', `/${id}`)).body, { token_endpoint_auth_method: 'none' });
    t.match(await call('POST', `/${id}/secrets`), { status: 400 });
  }
});

t.test('secrets: two at a time, so that one is replaced without a gap', async (t) => {
  const { id, secret } = await make();
  const added = await call('POST', `/${id}/secrets`, { expires_in: 3600 });
  t.match(added, { status: 201, body: { id: /^sec_/, client_secret: /^[\w-]{43}$/, created_at: String } });
  t.ok(Math.abs(Date.parse(String(added.body.expires_at)) - Date.now() - 3_600_000) < 5000);
  t.match(await call('POST', `/${id}/secrets`), { status: 409, body: { error: { code: 'conflict' } } });
  for (const text of [secret, String(added.body.client_secret)])
    t.equal(await applications.checkSecret(id, text), true);
  const list = await call('GET', `/${id}/secrets`);
  t.equal(list.body.data.length, 2);
  t.notMatch(JSON.stringify(list.body), /hash|client_secret/);
  const [first] = list.body.data;
  t.equal((await call('DELETE', `/${id}/secrets/${first?.id}`)).status, 204);
  t.equal((await call('DELETE', `/${id}/secrets/${first?.id}`)).status, 404);
  t.equal(await applications.checkSecret(id, secret), false);
  t.equal(await applications.checkSecret(id, String(added.body.client_secret)), true);
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.match((await call('GET', `/${id}/secrets`)).body.data, [{ last_used_at: /^\d{4}-/ }], 'when it was used');
  t.equal((await call('DELETE', `/${id}/secrets/${added.body.id}`)).status, 204, 'the last one, too');
  t.equal(await applications.checkSecret(id, String(added.body.client_secret)), false);
  t.match(first, { label: null, last_four: /^[\w-]{4}$/ });
  t.equal(added.body.last_four, String(added.body.client_secret).slice(-4), 'what tells it from others');
  const labelled = await call('POST', `/${id}/secrets`, { label: 'web-1' });
  t.match(labelled.body, { label: 'web-1', last_four: String(labelled.body.client_secret).slice(-4) });
  t.equal((await call('DELETE', `/${id}/secrets/${labelled.body.id}`)).status, 204);
  for (const label of ['', ' ', 'x'.repeat(201), 'a\u202e'])
    t.match(await call('POST', `/${id}/secrets`, { label }), {
      ...{ status: 400, body: { error: { details: [{ field: 'label' }] } } },
    });
  for (const body of [{ expires_in: 59 }, { expires_in: 1.5 }, { expires_in: '60' }, { expires: 60 }, []])
    t.equal((await call('POST', `/${id}/secrets`, body)).status, 400, JSON.stringify(body));
  t.match((await call('POST', `/${id}/secrets`)).body, { expires_at: null });
});

t.test('a secret that another replica has just added is known at once', async (t) => {
  const { id, secret } = await make();
  t.equal(await applications.checkSecret(id, secret), true, 'it is remembered');
  const elsewhere = { id: 'sec_other', hash: hashSecret('made elsewhere'), created_at: new Date() };
  await api.connection
    .collection<{ _id: string }>('applications')
    .updateOne({ _id: id }, { $push: { secrets: elsewhere } as never });
  t.equal(await applications.checkSecret(id, 'made elsewhere'), true);
});

import { parseApiKey } from '@gatehouse/verify/api-key';
import t from 'tap';
import { MAX_APPLICATIONS } from '../../../src/core/applications/application.ts';
import {
  MAX_PENDING,
  MAX_PENDING_BY_ONE,
  OFFERED,
  TRANSFER_SECONDS,
} from '../../../src/features/transfers/transfers.ts';
import { buildApi, MACHINE, WEB } from '../../applications-api.ts';
import { latestEntries } from '../../audit-entries.ts';

const api = await buildApi(t);
const { call, callAt, make, people, applications, apiKeys, revoked } = api;
const offer = (id: string, to: unknown, who?: string) => call('POST', `/${id}/transfer`, { to }, who);
const respondTo = (transfer: unknown, what: 'accept' | 'decline', who: string) =>
  callAt('POST', `/transfers/${transfer}/${what}`, undefined, who);
/** Offers an application, which is accepted. */
async function give(id: string, to: string, who?: string) {
  const offered = await offer(id, to, who);
  return offered.status === 202 ? respondTo(offered.body.id, 'accept', `usr_${to}`) : offered;
}
const received = async (who: string) => (await callAt('GET', '/transfers', undefined, who)).body.data;
const newKey = async (id: string, who?: string) =>
  String((await call('POST', `/${id}/api-keys`, { name: 'Key', scopes: ['read:data'] }, who)).body.api_key);
const resolve = (key: string) => apiKeys.resolve(parseApiKey(key)?.hash ?? '');

t.test('an application is given to another person, without what it authenticates by', async (t) => {
  const { id, secret } = await make(MACHINE);
  const key = await newKey(id);
  t.ok(await resolve(key));
  const { epoch } = (await applications.find(id)) ?? {};
  const given = await give(id, 'ben');
  t.match(given, { status: 200, body: { client_id: id, owner: 'usr_ben', scopes: MACHINE.scopes } });
  t.equal(await applications.checkSecret(id, secret), false);
  t.equal(await resolve(key), undefined);
  t.match(await revoked(id), [{ kind: 'client', epoch: Number(epoch) + 1 }]);
  t.same(await api.applicationStore.awaitingRevocation(), []);

  for (const [method, path] of [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/transfer'],
    ['POST', '/secrets'],
  ]) {
    const body = { PATCH: { name: 'Mine' }, POST: path === '/transfer' ? { to: 'ann' } : {} }[method ?? ''];
    t.equal((await call(method ?? '', `/${id}${path}`, body)).status, 404, `${method} ${path}`);
  }
  t.match(await call('GET', `/${id}/secrets`, undefined, 'usr_ben'), { status: 200, body: { data: [] } });
  t.equal((await call('POST', `/${id}/secrets`, {}, 'usr_ben')).status, 201);
  t.ok(await resolve(await newKey(id, 'usr_ben')));
  t.match(await latestEntries(api.auditStore, { client: id, action: 'application.transferred' }, 9), [
    { actor: 'usr_ben', origin: { address: String }, details: { from: 'usr_ann', to: 'usr_ben' } },
  ]);
  t.same(
    api.notified.splice(0),
    ['application_offered usr_ben', 'application_given usr_ann'],
    'both are told',
  );
});

t.test('nothing moves before the recipient has seen what it may do, and accepts', async (t) => {
  people.set('usr_cal', { role: 'user', status: 'active', epoch: 1 });
  const { id, secret } = await make(WEB);
  const offered = await offer(id, 'cal');
  t.match(offered, {
    status: 202,
    body: {
      id: /^trf_/,
      sender: { id: 'usr_ann', username: 'ann' },
      to: 'usr_cal',
      application: {
        client_id: id,
        name: WEB.name,
        redirect_uris: WEB.redirect_uris,
        scopes: WEB.scopes,
        grant_types: ['authorization_code', 'refresh_token'],
        trusted: false,
      },
    },
  });
  const expires = Date.parse(String(offered.body.expires_at)) - Date.parse(String(offered.body.created_at));
  t.equal(expires, TRANSFER_SECONDS * 1000);
  const transfer = offered.body.id;
  t.same(await received('usr_cal'), [offered.body]);
  t.same(await received('usr_ann'), []);
  t.match(await call('GET', `/${id}/transfer`), { status: 200, body: offered.body });
  t.equal((await call('GET', `/${id}/transfer`, undefined, 'usr_cal')).status, 404);
  t.ok(await applications.checkSecret(id, secret), 'it works as before');
  for (const who of ['usr_ann', 'usr_root']) {
    for (const what of ['accept', 'decline'] as const) {
      t.equal((await respondTo(transfer, what, who)).status, 404, `${who} ${what}`);
    }
  }
  t.equal((await respondTo(transfer, 'accept', 'usr_cal machine')).status, 403);

  t.equal((await respondTo(transfer, 'decline', 'usr_cal')).status, 204);
  t.equal((await respondTo(transfer, 'accept', 'usr_cal')).status, 404, 'declined');
  const { body: second } = await offer(id, 'cal');
  t.equal((await call('DELETE', `/${id}/transfer`)).status, 204);
  t.equal((await respondTo(second.id, 'accept', 'usr_cal')).status, 404, 'cancelled');
  const { body: third } = await offer(id, 'cal');
  await call('PATCH', `/${id}`, { redirect_uris: ['https://other.example.org/cb'] });
  t.same(await received('usr_cal'), [], 'it is no longer what was offered');
  t.equal((await respondTo(third.id, 'accept', 'usr_cal')).status, 404, 'changed');
  const { body: fourth } = await offer(id, 'cal');
  await offer(id, 'root', 'usr_root');
  t.equal((await respondTo(fourth.id, 'accept', 'usr_cal')).status, 404, 'another has taken it');
  const { body: fifth } = await offer(id, 'cal', 'usr_root');
  const both = await Promise.all([1, 2].map(() => respondTo(fifth.id, 'accept', 'usr_cal')));
  t.same(both.map(({ status }) => status).sort(), [200, 404], 'once');
  const actions = ['application.transferred', 'transfer.declined', 'transfer.cancelled', 'transfer.offered'];
  for (const action of actions) {
    t.not((await latestEntries(api.auditStore, { client: id, action }, 9)).length, 0, action);
  }
});

t.test('an offer ends with its time, and with what its sender may give', async (t) => {
  people.set('usr_max', { role: 'user', status: 'active', epoch: 1 });
  people.set('usr_dan', { role: 'user', status: 'active', epoch: 1 });
  const { id } = await make(WEB, 'usr_max');
  const { body } = await offer(id, 'dan', 'usr_max');
  for (const [name, sender, recipient, status] of [
    ['the sender is inactive', { role: 'user', status: 'inactive', epoch: 1 }, 'user', 404],
    ['the recipient has a higher role', { role: 'user', status: 'active', epoch: 1 }, 'editor', 409],
  ] as const) {
    people.set('usr_max', sender);
    people.set('usr_dan', { role: recipient, status: 'active', epoch: 1 });
    t.equal((await respondTo(body.id, 'accept', 'usr_dan')).status, status, name);
  }
  people.set('usr_dan', { role: 'user', status: 'active', epoch: 1 });
  people.set('usr_max', { role: 'user', status: 'active', epoch: 2 });
  t.equal((await respondTo(body.id, 'accept', 'usr_dan')).status, 404, 'the sender has another password');
  const { body: second } = await offer(id, 'dan', 'usr_max');
  t.equal((await received('usr_dan')).length, 1);
  const pending = api.connection.collection('application_transfers');
  await pending.updateOne({ client_id: id }, { $set: { expires_at: new Date() } });
  t.same(await received('usr_dan'), []);
  t.equal((await respondTo(second.id, 'accept', 'usr_dan')).status, 404);
});

t.test('public keys and trust end with the old owner, and the new one’s changes count', async (t) => {
  const { id } = await make(MACHINE);
  const trusted = await call(
    'PATCH',
    `/${id}`,
    { trusted: true, scopes: ['read:data', 'read:all'] },
    'usr_root',
  );
  t.match(trusted, { status: 200, body: { trusted: true } });
  t.match((await give(id, 'ben')).body, { owner: 'usr_ben', trusted: false, trusted_by: null, jwks: null });

  const { id: plain } = await make(MACHINE);
  await applications.giverChanged('usr_ann', 50);
  await give(plain, 'ben');
  const { epoch = 0 } = (await api.applicationStore.findNow(plain)) ?? {};
  // Less than what the old owner's account had.
  await applications.giverChanged('usr_ben', 2);
  t.equal((await api.applicationStore.findNow(plain))?.epoch, epoch + 1);
});

t.test('requests that an old owner begins before, and finishes after, give them nothing', async (t) => {
  for (const [what, begin] of [
    ['a secret', (id: string) => call('POST', `/${id}/secrets`, {})],
    ['an API key', (id: string) => call('POST', `/${id}/api-keys`, { name: 'Key', scopes: ['read:data'] })],
    ['a change', (id: string) => call('PATCH', `/${id}`, { name: 'Still mine' })],
  ] as const) {
    const { id } = await make(MACHINE);
    await call('DELETE', `/${id}/secrets/${(await call('GET', `/${id}/secrets`)).body.data[0]?.id}`);
    api.beforeWrite.next = () => give(id, 'ben');
    const { status, body } = await begin(id);
    if (status === 201 && typeof body.api_key === 'string')
      t.equal(await resolve(body.api_key), undefined, what);
    else t.equal(status, 404, what);
    const { data } = (await call('GET', `/${id}/secrets`, undefined, 'usr_ben')).body;
    t.same(data, [], what);
    t.match((await call('GET', `/${id}`, undefined, 'usr_ben')).body, {
      name: MACHINE.name,
      owner: 'usr_ben',
    });
  }
});

t.test('who may give what to whom', async (t) => {
  people.set('usr_gone', { role: 'user', status: 'inactive', epoch: 1 });
  people.set('usr_ed', { role: 'editor', status: 'active', epoch: 1 });
  const { id } = await make(WEB);
  for (const [name, to, who, status, field] of [
    ['nobody', 'nobody', 'usr_ann', 400, 'to'],
    ['somebody inactive', 'gone', 'usr_ann', 400, 'to'],
    ['somebody with a higher role', 'root', 'usr_ann', 400, 'to'],
    ['themselves', 'ann', 'usr_ann', 400, 'to'],
    ['no text', 5, 'usr_ann', 400, 'to'],
    ['an empty text', '', 'usr_ann', 400, 'to'],
    ['nobody at all', undefined, 'usr_ann', 400, 'to'],
    ['somebody else’s', 'ben', 'usr_ben', 404, undefined],
    ['by a machine', 'ben', 'usr_ann machine', 403, undefined],
    ['by an API key', 'ben', 'usr_ann key', 403, undefined],
    ['without the scope', 'ben', 'usr_ann without', 403, undefined],
  ] as const) {
    const refused = await offer(id, to, who);
    t.equal(refused.status, status, name);
    if (field !== undefined) t.match(refused.body, { error: { details: [{ field }] } }, name);
  }
  const misspelt = await call('POST', `/${id}/transfer`, { to: 'ben', owner: 'usr_ben' });
  t.match(misspelt, { status: 400, body: { error: { details: [{ field: 'owner' }] } } });
  t.match(await call('GET', `/${id}`), { status: 200, body: { owner: 'usr_ann' } });
  t.match(await give(id, 'root', 'usr_root'), { status: 200, body: { owner: 'usr_root' } }, 'an admin');
  t.match(await give(id, 'ed', 'usr_root'), { status: 200, body: { owner: 'usr_ed' } }, 'to anybody');
  t.match(await give(id, 'ben', 'usr_ed'), { status: 200, body: { owner: 'usr_ben' } }, 'downwards');
  const { id: another } = await make(WEB, 'usr_ed');
  const tries = await Promise.all(
    Array.from({ length: 25 }, (_, i) => give(another, `guess-${i}`, 'usr_ed')),
  );
  t.equal(tries.filter(({ status }) => status === 429).length, 6, 'guesses are limited');
});

t.test('the old owner is not notified of the new one’s people', async (t) => {
  const { id } = await make({ ...WEB, backchannel_logout_uri: 'https://web.example.org/sign-outs' });
  t.match((await give(id, 'ben')).body, { owner: 'usr_ben', backchannel_logout_uri: null });
});

t.test('nobody is offered as many as people please', async (t) => {
  const givers = Array.from({ length: MAX_PENDING / MAX_PENDING_BY_ONE + 2 }, (_, i) => `usr_giver${i}`);
  for (const giver of [...givers, 'usr_kim', 'usr_lia', 'usr_ned'])
    people.set(giver, { role: 'user', status: 'active', epoch: 1 });
  const [first = '', ...others] = givers;
  const declined = async (giver: string) => {
    const { id } = await make(WEB, giver);
    const { status, body } = await offer(id, 'kim', giver);
    if (status === 202) await respondTo(body.id, 'decline', 'usr_kim');
    return status;
  };
  for (let i = 0; i < OFFERED.quota; i += 1) t.equal(await declined(first), 202);
  for (let i = 0; i < OFFERED.quota; i += 1) t.equal(await declined(first), 429, 'one person in a loop');
  for (const giver of others.slice(0, -1)) {
    for (let i = 0; i < OFFERED.quota; i += 1) t.equal(await declined(giver), 202, 'blocks nobody else');
  }
  t.equal(await declined(others.at(-1) ?? ''), 202, 'nor do all of them together');

  const sent = await Promise.all(
    Array.from({ length: MAX_PENDING_BY_ONE + 3 }, async () => {
      const { id } = await make(WEB, 'usr_lia');
      return (await offer(id, 'ben', 'usr_lia')).status;
    }),
  );
  t.equal(sent.filter((status) => status === 202).length, MAX_PENDING_BY_ONE, 'of one person, at once');
  const pendingOf = async (sender: string) =>
    (await received('usr_ned')).filter(({ sender: it }) => (it as { id: string }).id === sender).length;
  for (const giver of others.slice(0, MAX_PENDING / MAX_PENDING_BY_ONE)) {
    for (let i = 0; i < MAX_PENDING_BY_ONE; i += 1) await offer((await make(WEB, giver)).id, 'ned', giver);
  }
  t.equal((await received('usr_ned')).length, MAX_PENDING);
  for (const sender of ['usr_lia', 'usr_root']) {
    t.equal((await offer((await make(WEB, sender)).id, 'ned', sender)).status, 202, 'the flood gives way');
    t.equal(await pendingOf(sender), 1);
    t.equal((await received('usr_ned')).length, MAX_PENDING);
  }
  t.same(
    await Promise.all(others.map(pendingOf)),
    [MAX_PENDING_BY_ONE - 1, MAX_PENDING_BY_ONE - 1, MAX_PENDING_BY_ONE, MAX_PENDING_BY_ONE, 0],
    'one of each',
  );

  const more = await Promise.all(
    Array.from({ length: MAX_PENDING + 2 }, async () => {
      const { id } = await make(WEB);
      return (await offer(id, 'kim', 'usr_root')).status;
    }),
  );
  t.equal(more.filter((status) => status === 202).length, MAX_PENDING, 'an admin may');
  t.equal(more.filter((status) => status === 409).length, 2, 'but no more than they can look through');
  const pending = await received('usr_kim');
  t.equal(pending.length, MAX_PENDING);
  for (const { application } of pending) {
    const { client_id: id } = application as { client_id: string };
    await call('PATCH', `/${id}`, { name: 'Not what was offered' }, 'usr_root');
  }
  const { id } = await make(WEB);
  t.equal((await offer(id, 'kim', 'usr_root')).status, 202, 'what has ended takes no place');
});

t.test('nobody gets more than they could make', async (t) => {
  people.set('usr_full', { role: 'user', status: 'active', epoch: 1 });
  const { id: model } = await make(MACHINE);
  const collection = api.connection.collection<{ _id: string }>('applications');
  const stored = await collection.findOne({ _id: model });
  await collection.insertMany(
    Array.from({ length: MAX_APPLICATIONS }, (_, slot) => {
      return { ...stored, _id: `app_of_full_${slot}`, owner: 'usr_full', slot };
    }),
  );
  const { id } = await make(MACHINE);
  t.match(await give(id, 'full', 'usr_root'), { status: 409, body: { error: { code: 'conflict' } } });
  t.equal((await received('usr_full')).length, 1, 'which they can still accept');
  const [first] = (await call('GET', '', undefined, 'usr_full')).body.data;
  await call('DELETE', `/${first?.client_id}`, undefined, 'usr_full');
  const { id: other } = await make(MACHINE);
  const both = await Promise.all([give(id, 'full', 'usr_root'), give(other, 'full', 'usr_root')]);
  t.same(both.map(({ status }) => status).sort(), [200, 409]);
});

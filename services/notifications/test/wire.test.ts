import { createWireRow } from '@gatehouse/testing/wire-snapshot';
import t from 'tap';
import { ALL, ANN, BOB, build } from './build.ts';

/**
 * What goes over the wire for each row of the interface about notifications (2.7, 2.8 and 4.4) and what belongs to them:
 * request, status, the headers that mean something, and the body. A snapshot that changes is an interface that changes.
 */

t.snapshotFile = new URL('wire.snapshot.cjs', import.meta.url);

// Nothing is sent: what is queued stays so.
const { issuer, call, machine } = await build(t, {
  slots: 0,
  providers: { capture: { directory: t.testdir() } },
});
const tokens = {
  machine,
  admin: await issuer.person('usr_admin', 'admin', ALL),
  editor: await issuer.person('usr_editor', 'editor', ALL),
  ann: await issuer.person(ANN, 'user', 'read:data write:data'),
  reader: await issuer.machine('read:data'),
  nobody: undefined,
};
const row = createWireRow(call, tokens);
const MESSAGE = { user_id: ANN, message: 'Your order has been shipped.', type: 'email', priority: 'high' };
const PREFIXES = ['/v2/notifications', '/notifications', '/api/v1/notifications'];

t.test('queues and dead letters', async (t) => {
  for (const path of [
    '/api/v1/queues',
    '/api/v1/dead-letters',
    '/api/v1/dead-letters?queue=messages&limit=1',
  ])
    for (const who of ['admin', 'editor', 'machine', 'nobody'] as const) await row(t, who, 'GET', path);
  await row(t, 'admin', 'PUT', '/api/v1/queues/messages/sms', { paused: true });
  await row(t, 'admin', 'PUT', '/api/v1/queues/messages/sms', { paused: 'yes' });
  for (const lane of ['messages/fax', 'letters/sms'])
    await row(t, 'admin', 'PUT', `/api/v1/queues/${lane}`, { paused: true });
  await row(t, 'editor', 'PUT', '/api/v1/queues/messages/sms', { paused: false });
  await row(t, 'admin', 'PUT', '/api/v1/queues/messages/sms', { paused: false });
  for (const query of ['?queue=letters', '?cursor=x', '?limit=101'])
    await row(t, 'admin', 'GET', `/api/v1/dead-letters${query}`);
  await row(t, 'admin', 'GET', '/api/v1/dead-letters/ntf_unknown-1');
  await row(t, 'admin', 'DELETE', '/api/v1/dead-letters/ntf_unknown-1');
  await row(t, 'admin', 'DELETE', '/api/v1/dead-letters?queue=messages');
  await row(t, 'admin', 'DELETE', '/api/v1/dead-letters');
  await row(t, 'admin', 'POST', '/api/v1/dead-letters', { ids: ['ntf_unknown-1'] });
  await row(t, 'admin', 'POST', '/api/v1/dead-letters', { ids: [] });
  await row(t, 'editor', 'POST', '/api/v1/dead-letters', { ids: ['ntf_unknown-1'] });
});

t.test('notifications', async (t) => {
  for (const prefix of PREFIXES) {
    await row(t, 'machine', 'GET', `${prefix}?user_id=usr_nobody`);
    const id = await row(t, 'editor', 'POST', prefix, MESSAGE);
    for (const who of ['ann', 'reader', 'nobody'] as const) await row(t, who, 'POST', prefix, MESSAGE);
    for (const body of [
      {},
      { ...MESSAGE, user_id: 'usr_nobody' },
      { ...MESSAGE, message: ' ' },
      { ...MESSAGE, type: 'fax', priority: 'urgent' },
    ])
      await row(t, 'machine', 'POST', prefix, body);
    const path = `${prefix}/${id}`;
    for (const who of ['machine', 'ann', 'nobody'] as const) await row(t, who, 'GET', path);
    const toBob = await row(t, 'machine', 'POST', prefix, { ...MESSAGE, user_id: BOB, type: 'push' });
    await row(t, 'ann', 'GET', `${prefix}/${toBob}`);
    await row(t, 'ann', 'GET', `${prefix}?filter[id]=${toBob}`);
    for (const query of [
      '?limit=1&sort=created_at',
      '?limit=1&cursor=',
      '?status=lost',
      '?filter[message]=x',
    ])
      await row(t, 'machine', 'GET', prefix + query);
    await row(t, 'machine', 'PUT', path, { priority: 'low' });
    await row(t, 'machine', 'PUT', path, {});
    await row(t, 'machine', 'PUT', path, { status: 'sent' });
    await row(t, 'ann', 'PUT', path, { status: 'cancelled' });
    await row(t, 'machine', 'PUT', path, { status: 'cancelled' });
    await row(t, 'machine', 'PUT', path, { priority: 'high' });
    await row(t, 'machine', 'DELETE', `${prefix}/${toBob}`);
    await row(t, 'machine', 'GET', `${prefix}/${toBob}`);
    await row(t, 'machine', 'DELETE', `${prefix}/ntf_unknown`);
  }
});

t.test('push subscriptions', async (t) => {
  const path = '/api/v1/push-subscriptions';
  const keys = {
    p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
    auth: 'BTBZMqHH6r4Tts7J_aSIgg',
  };
  const endpoint = 'https://push.example.com/send/1';
  await row(t, 'ann', 'GET', `${path}/public-key`);
  const id = await row(t, 'ann', 'POST', path, { endpoint, keys });
  for (const body of [
    {},
    { endpoint: 'http://push.example.com/', keys },
    { endpoint: 'https://10.0.0.1/', keys },
    { endpoint: 'https://[::1]/', keys },
    { endpoint: 'https://localhost/', keys },
    { endpoint, keys: { p256dh: 'AAAA', auth: 'AAAA' } },
  ])
    await row(t, 'ann', 'POST', path, body);
  for (const who of ['machine', 'nobody'] as const) await row(t, who, 'POST', path, { endpoint, keys });
  await row(t, 'ann', 'GET', path);
  await row(t, 'admin', 'GET', path);
  await row(t, 'ann', 'GET', `${path}/${id}`);
  await row(t, 'admin', 'GET', `${path}/${id}`);
  await row(t, 'admin', 'DELETE', `${path}/${id}`);
  await row(t, 'ann', 'DELETE', `${path}/${id}`);
  await row(t, 'ann', 'DELETE', `${path}/${id}`);
});

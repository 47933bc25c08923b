import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { ANN, build, SCOPES, type Webhook } from './build.ts';

const { hooks, create, deliveries, delivered, publish, order, behave, issuer, origin } = await build(t, {
  backlog: 5,
  scale: 1,
});
const { taken } = issuer.queueActions;

t.test('the deliveries of a member use no room of the owner', async (t) => {
  behave('/member', (_request, response) => response.writeHead(500).end());
  const scopes = SCOPES.split(' ');
  const of = { client_id: 'app_ann', scopes, trusted: false, owner: ANN, role: 'user' } as const;
  const { key, id } = issuer.apiKey(of);
  const epochs = { recovery: 0, authority: 0 };
  const credentials = [{ ids: [id], given_by: 'usr_member', epoch: 0, role: 'user' as const, scopes }];
  issuer.rights.set(ANN, { epochs, role: 'user' });
  issuer.rights.set('app_ann', { epochs, person: ANN, client_ids: ['app_ann'], credentials, role: 'user' });
  const draft = { url: `${origin}/member`, events: ['order.*'] };
  const made = await hooks<Webhook>('POST', '', draft, key);
  t.equal(made.status, 201, made.text);
  const test = async () => (await hooks('POST', `/${made.body.id}/test`, undefined, key)).status;
  for (let i = 0; i < 6; i += 1) t.equal(await test(), 202);
  t.equal(await test(), 429);
  behave('/own', (_request, response) => response.writeHead(500).end());
  const own = await create('/own');
  for (let i = 0; i < 6; i += 1) t.equal((await hooks('POST', `/${own.id}/test`)).status, 202);
  for (const it of [own.id, made.body.id]) await hooks('DELETE', `/${it}`);
});

t.test('an owner with too many pending deliveries', async (t) => {
  for (const path of ['/most', '/fewer']) behave(path, (_request, response) => response.writeHead(500).end());
  const fewer = await create('/fewer');
  const most = await create('/most');
  const other = await create('/other', { events: ['product.created'] });
  await hooks('POST', `/${other.id}/test`);
  const [sent] = await delivered(other.id, 1);
  await hooks('POST', `/${fewer.id}/test`);
  for (let i = 0; i < 5; i += 1) t.equal((await hooks('POST', `/${most.id}/test`)).status, 202);
  for (const path of ['test', 'replay', `deliveries/${sent?.id}/resend`]) {
    const body = path === 'replay' ? { from: '2026-01-01' } : undefined;
    const refused = await hooks('POST', `/${other.id}/${path}`, body);
    t.match(refused, { status: 429, body: { error: 'rate_limited' } }, path);
    t.equal(refused.headers.get('retry-after'), '60', path);
  }
  await publish('commerce.order.created', order('ord_1', ANN));
  const paused = async ({ id }: Webhook) => (await hooks<Webhook>('GET', `/${id}`)).body.pause_reason;
  await until(async () => (await paused(most)) === 'backlog', 10_000);
  t.equal(await paused(fewer), null);
  // One that is under way ends as any other.
  await until(async () => (await deliveries(most.id)).every(({ status }) => status === 'skipped'), 15_000);
  t.match((await deliveries(most.id))[0], { reason: /^The webhook (?:was|is) paused/ });
  t.equal((await deliveries(fewer.id)).length, 2);
  t.equal((await hooks('POST', `/${other.id}/test`)).status, 202, 'there is room');
  const details = { webhook: most.id, status: 'paused', reason: 'backlog' };
  await until(() => taken.some(({ action }) => action === 'webhook.paused'), 10_000);
  t.match(
    taken.filter(({ action }) => action === 'webhook.paused'),
    [{ details, subject: ANN, by: { client_id: 'webhooks', user_id: null } }],
  );
});

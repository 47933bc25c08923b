import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '@gatehouse/core/ids';
import { until } from '@gatehouse/testing/processes';
import { Webhook as Verifier } from 'standardwebhooks';
import t from 'tap';
import { ANN, BOB, build, SCOPES, type Webhook } from './build.ts';

const { call, hooks, create, delivered, deliveries, publish, order, issuer, at, behave, origin } =
  await build(t, {
    timeoutMs: 5000,
  });
const bob = await issuer.person(BOB, 'user', `${SCOPES} manage:apps`);

t.test('an event is delivered, signed, once to each webhook that subscribes to it', async (t) => {
  const hook = await create('/first');
  const other = await create('/other', { events: ['product.created'] });
  t.match(hook, { id: /^whk_/, secret: /^whsec_[A-Za-z0-9+/]{43}=$/, status: 'active' });
  t.notMatch((await hooks('GET', `/${hook.id}`)).text, /whsec/);
  t.notMatch((await hooks('GET', '')).text, /whsec/);
  await publish('commerce.order.created', order('ord_1', ANN));
  const [delivery] = await delivered(hook.id, 1);
  t.match(delivery, {
    type: 'order.created',
    attempts: [{ response: { status: 204 }, error: null, url: `${origin}/first` }],
  });
  const [request] = at('/first');
  t.match(new Verifier(hook.secret).verify(request?.body ?? '', request?.headers ?? {}), {
    type: 'order.created',
    data: { order_id: 'ord_1' },
  });
  t.equal(request?.headers['webhook-id'], delivery?.event_id);
  t.match(request?.headers['user-agent'], /^Gatehouse-Webhooks\/\d/);
  t.equal(request?.body, delivery?.request.body);
  t.throws(() => new Verifier(other.secret).verify(request?.body ?? '', request?.headers ?? {}));
  t.same(await deliveries(other.id), []);
});

t.test('an owner gets what the own applications may read, as it is when it is delivered', async (t) => {
  const hook = await create('/mine', { events: ['*'] });
  await publish('commerce.order.created', order('ord_bob', BOB));
  await publish('commerce.order.created', order('ord_ann', ANN));
  await delivered(hook.id, 3);
  const ids = at('/mine').map(({ body }) => JSON.parse(body).data.order_id);
  t.same(
    ids.toSorted(),
    ['ord_ann', 'ord_ann', 'ord_bob'],
    'stock is for everybody, an order for its customer',
  );

  let release = () => {};
  behave('/held', (_request, response) => {
    release = () => response.writeHead(500).end();
  });
  const held = await create('/held');
  await publish('commerce.order.created', order('ord_2', ANN));
  await until(() => at('/held').length === 1, 5000);
  issuer.rights.set(ANN, { scopes: [] });
  issuer.revoke({ kind: 'subject', id: ANN, epoch: 0 });
  release();
  const [skipped] = await delivered(held.id, 1, 'skipped');
  t.match(skipped, { reason: 'The applications of the owner may not read this event.' });
  issuer.rights.delete(ANN);
  issuer.revoke({ kind: 'subject', id: ANN, epoch: 0 });
});

t.test('whose webhooks', async (t) => {
  const hook = await create('/owned');
  for (const [method, path] of [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['GET', '/deliveries'],
    ['POST', '/test'],
    ['POST', '/rotate'],
  ] as const) {
    const body = method === 'GET' || method === 'DELETE' ? undefined : {};
    t.equal((await hooks(method, `/${hook.id}${path}`, body, bob)).status, 404, `${method} ${path}`);
  }
  const draft = { url: `${origin}/x`, events: ['order.*'] };
  const third = await issuer.sign({ sub: ANN, client_id: 'app_of_others', scope: SCOPES, roles: ['user'] });
  t.equal((await hooks('POST', '', draft, third)).status, 403, 'an application of somebody else');
  issuer.rights.set('app_ann', { client_ids: ['app_ann'], person: ANN, role: 'user', scopes: ['read:data'] });
  const ofAnn = { client_id: 'app_ann', scope: SCOPES, roles: ['user'] };
  const byConsent = await issuer.sign({ sub: ANN, ...ofAnn });
  t.equal((await hooks('POST', '', draft, byConsent)).status, 403, 'it would outlive the consent');
  const own = await issuer.sign({ sub: 'app_ann', owner: ANN, ...ofAnn });
  t.equal((await hooks('POST', '', { ...draft, events: ['user.*'] }, own)).status, 400, 'beyond its scopes');
  const created = await hooks<Webhook>('POST', '', draft, own);
  t.equal(created.status, 201);
  const seen = async (token?: string) =>
    (await hooks('GET', '?limit=100', undefined, token)).body.data as Webhook[];
  t.same(
    (await seen(own)).map(({ id }) => id),
    [created.body.id],
    'an application sees its own',
  );
  t.ok((await seen()).length > 1, 'and the owner all');
  const machine = await issuer.machine(SCOPES);
  issuer.rights.set('app_test', {
    client_ids: ['app_test'],
    person: null,
    role: 'machine',
    scopes: ['read:data'],
  });
  t.equal((await hooks('POST', '', draft, machine)).status, 201, 'a trusted application');
  t.equal((await hooks('DELETE', `/${hook.id}`)).status, 204);
  t.equal((await hooks('GET', `/${hook.id}`)).status, 404);
});

t.test('an event that never comes is refused, and the list of types says why', async (t) => {
  const reasons = async (token: string) => {
    const { body } = await call('GET', '/api/v1/event-types', token);
    const types = body.data as unknown as { type: string; unavailable_reason: string | null }[];
    return Object.fromEntries(types.map(({ type, unavailable_reason: reason }) => [type, reason]));
  };
  const refused = async (events: string[], token: string) =>
    (await hooks('POST', '', { url: `${origin}/x`, events }, token)).body.error;
  const others = 'Events about other people need an admin, an editor, or a token of a trusted application.';
  const carl = 'usr_06f2k1c8w0h3v5n7q9t1x3z5c1';
  const token = await issuer.person(carl, 'user', `${SCOPES} manage:apps`);
  const scope =
    'No application of yours has the scope read:users. Add it under Permissions in the settings of an application.';
  issuer.rights.set(carl, { scopes: ['read:data'] });
  t.match(await reasons(token), { 'user.updated': scope, 'sign_in.failed': 'You have no application yet.' });
  t.equal(await refused(['user.*'], token), `events cannot have user.*: ${scope}`);
  issuer.rights.delete(carl);
  issuer.own(carl, 'app_carl');
  issuer.revoke({ kind: 'subject', id: carl, epoch: 0 });
  t.match(await reasons(token), {
    ...{ 'user.created': others, 'user.deleted': others, 'user.updated': null },
    ...{ 'sign_in.failed': null, 'order.created': null },
  });
  t.equal(await refused(['order.*', 'user.created'], token), `events cannot have user.created: ${others}`);
  const editor = newId('usr');
  issuer.own(editor, 'app_of_editor');
  t.match(await reasons(await issuer.person(editor, 'editor', `${SCOPES} manage:apps`)), {
    'user.created': null,
  });
});

t.test('what is refused', async (t) => {
  for (const [draft, message] of [
    [{ url: 'http://example.com/' }, /url must be an https URL/],
    [{ url: 'https://user:x@example.com/' }, /url must be an https URL/],
    [{ url: 'javascript:alert(1)' }, /url must be an https URL/],
    [{ url: `https://example.com/${'x'.repeat(2000)}` }, /url must be an https URL/],
    [{ events: [] }, /events must name/],
    [{ events: ['order.lost'] }, /no such type/],
    [{ events: ['report.*', 'x'] }, /no such type/],
    [{ description: 'x'.repeat(501) }, /description must have at most 500/],
    [{ description: 'orders \u202e sredro' }, /description must not contain invisible/],
    [{ description: 'orders\u0007' }, /description must not contain invisible/],
  ] as const) {
    const { status, body } = await hooks('POST', '', { url: `${origin}/x`, events: ['*'], ...draft });
    t.equal(status, 400);
    t.match(body.error, message);
  }
});

t.test('a failure is tried again, and a redirect is one', async (t) => {
  behave('/flaky', (_request, response, count) => {
    if (count === 1) response.writeHead(500).end('x'.repeat(5000));
    else if (count === 2) response.writeHead(302, { location: `${origin}/elsewhere` }).end();
    else if (count === 3) response.destroy();
    else response.writeHead(200).end('ok');
  });
  const hook = await create('/flaky');
  await publish('commerce.order.created', order('ord_3', ANN));
  const [delivery] = await delivered(hook.id, 1);
  const { attempts = [] } = delivery ?? {};
  t.match(attempts, [
    { response: { status: 500, body: 'x'.repeat(1024) }, error: 'The endpoint answered 500.' },
    { response: { status: 302 }, error: 'The endpoint answered 302.' },
    { response: null, error: /^The connection failed/ },
    { response: { status: 200, body: 'ok' }, error: null },
  ]);
  t.equal(new Set(at('/flaky').map(({ headers }) => headers['webhook-id'])).size, 1, 'the same id each time');
  t.equal(at('/elsewhere').length, 0);
});

t.test('where asked, the events about one thing come in order', async (t) => {
  behave('/ordered', (_request, response, count) => {
    response.writeHead(count < 4 ? 503 : 200).end();
  });
  const hook = await create('/ordered', { ordered: true });
  await publish('commerce.order.created', order('ord_4', ANN));
  for (let version = 2; version <= 4; version += 1) {
    await publish('commerce.order.changed', order('ord_4', ANN, { version, status: 'processing' }));
  }
  await delivered(hook.id, 4);
  const versions = at('/ordered').map(({ body }) => JSON.parse(body).data.version);
  t.same(versions, [1, 1, 1, 1, 2, 3, 4]);
});

t.test('a deletion, a pause and a new secret take effect at once', async (t) => {
  for (const [name, change] of [
    ['deleted', (id: string) => hooks('DELETE', `/${id}`)],
    ['paused', (id: string) => hooks('PATCH', `/${id}`, { status: 'paused' })],
  ] as const) {
    const hook = await create(`/${name}`);
    behave(`/${name}`, (_request, response) => response.writeHead(503).end());
    for (let n = 0; n < 5; n += 1) await publish('commerce.order.created', order(`ord_${name}_${n}`, ANN));
    await until(() => at(`/${name}`).length > 0, 5000);
    await change(hook.id);
    const count = at(`/${name}`).length;
    await sleep(500);
    // Those that were under way then.
    t.ok(at(`/${name}`).length <= count + 5, name);
  }
  const hook = await create('/rotated');
  await hooks('POST', `/${hook.id}/test`);
  await delivered(hook.id, 1);
  const { body } = await hooks<Webhook>('POST', `/${hook.id}/rotate`, { overlap_seconds: 0 });
  await hooks('POST', `/${hook.id}/test`);
  await delivered(hook.id, 2);
  const last = at('/rotated').at(-1);
  t.ok(new Verifier(body.secret).verify(last?.body ?? '', last?.headers ?? {}), 'signed by the new secret');
});

t.test('an attempt ends soon after its webhook is deleted', async () => {
  const hook = await create('/hanging');
  let closed = 0;
  behave('/hanging', (request) => {
    request.socket.on('close', () => {
      closed += 1;
    });
  });
  await hooks('POST', `/${hook.id}/test`);
  await until(() => at('/hanging').length === 1, 5000);
  await hooks('DELETE', `/${hook.id}`);
  await until(() => closed > 0, 2000);
});

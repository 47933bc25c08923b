import { createConcurrencyLimit } from '@gatehouse/api/http/concurrency-limit';
import { v2Body } from '@gatehouse/api/http/error-bodies';
import { createApp } from '@gatehouse/api/resource/app';
import { createResourceService } from '@gatehouse/api/resource/create-resource-service';
import { mountResource } from '@gatehouse/api/resource/mount-resource';
import { view } from '@gatehouse/api/resource/profile';
import type { IdempotencyStore } from '@gatehouse/data/idempotency-store';
import { createTestIssuer } from '@gatehouse/testing/test-issuer';
import { logger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import { startTestService } from '@gatehouse/testing/test-service';
import t from 'tap';
import { Type } from 'typebox';
import { createNotesService } from './fixtures/notes-service.ts';

/** What every service gets from createResourceService and mountResource. */

type Body = {
  id: string;
  text: string;
  data: { text: string }[];
  meta: object;
  links: { next?: string };
  error: { code: string; details?: object[] };
};

t.test('a service made by following the guide', async (t) => {
  const { issuer, call, document } = await startTestService<Body>(t, 'notes', createNotesService);
  const token = await issuer.machine('read:data write:data');
  const reader = await issuer.machine('read:data');
  const path = '/v2/notes';

  t.match(await call('POST', path, undefined, { text: 'a' }), { status: 401 });
  t.match(await call('POST', path, reader, { text: 'a' }), { status: 403 });
  t.match(await call('POST', path, token, { text: 1 }), {
    status: 400,
    body: { error: { code: 'invalid_parameter', details: [{ field: 'text' }] } },
  });
  t.match(await call('POST', path, token, { text: '' }), { status: 400 });

  const key = { 'idempotency-key': 'once' };
  const created = await call('POST', path, token, { text: 'a' }, key);
  const { id } = created.body;
  t.match(created, { status: 201, body: { id: /^not_/, text: 'a' } });
  t.equal(created.headers.get('location'), `${path}/${id}`);
  const repeated = await call('POST', path, token, { text: 'a' }, key);
  t.equal(repeated.body.id, id);
  t.equal(repeated.headers.get('idempotency-replayed'), 'true');
  t.match(await call('POST', path, token, { text: 'b' }, key), { status: 422 });
  for (const text of ['b', 'c']) await call('POST', path, token, { text });

  const read = await call('GET', `${path}/${id}`, reader);
  t.match(read, { status: 200, body: { id, text: 'a' } });
  const known = { 'if-none-match': read.headers.get('etag') ?? '' };
  t.match(await call('GET', `${path}/${id}`, reader, undefined, known), { status: 304 });
  t.match(await call('GET', `${path}/none`, reader), { status: 404 });

  const page = await call('GET', `${path}?page=2&limit=2`, reader);
  t.match(page.body, { data: [{ text: 'c' }], meta: { total: 3, limit: 2, page: 2, pages: 2 } });
  const first = await call('GET', `${path}?cursor=&limit=2`, reader);
  t.match(first.body, { data: [{ text: 'a' }, { text: 'b' }] });
  t.match((await call('GET', first.body.links.next ?? '', reader)).body, { data: [{ text: 'c' }] });
  t.match(await call('GET', `${path}?filter[created_at][gt]=2000-01-01`, reader), { status: 200 });
  t.match(await call('GET', `${path}?filter[text]=a`, reader), { status: 400 });
  t.match(await call('DELETE', `${path}/${id}`, token), { status: 405 }, 'no profile deletes');
  t.match(document, { info: { title: 'Notes' }, tags: [{ name: path }] });

  issuer.revoke({ kind: 'client', id: 'app_test', epoch: 1, expiresAt: Date.now() });
  t.match(await call('GET', path, reader), { status: 401 }, 'a revoked token');
});

t.test('a shared path serves exactly the profiles that applications can pin', async (t) => {
  const app = createApp({
    logger,
    errorBodyFor: () => v2Body,
    translate: () => undefined,
  });
  t.teardown(() => app.close());
  const profiles = ['offset', 'page'].map((name) => ({ name, about: '', errorBody: v2Body }));
  const resource = {
    noun: { one: 'a thing', many: 'things' },
    idPrefix: 'thg',
    paths: [{ prefix: '/things', pin: 'items' as const, profiles }],
    operations: {},
    example: { id: 'thg_1', version: 1 },
  };
  const options = {
    authenticate: async () => {},
    idempotencyKeys: {} as IdempotencyStore,
    concurrency: createConcurrencyLimit(),
  };
  t.throws(() => mountResource(app, resource, options), {
    message: /^\/things serves offset, page; PROFILE_PINS has cursor, offset /,
  });
});

t.test('unreachable paths and profiles are errors at start', async (t) => {
  const definition = { name: 'x', prefixes: ['/v1/x'], document: { title: '', description: '' } };
  const paths = [{ prefix: '/v2/x', profiles: [] }];
  const config = {
    publicUrl: 'http://x',
    identityUrl: 'http://x',
    clientSecret: 's',
    mongodbUri: 'mongodb://x',
  };
  const create = () =>
    createResourceService({ ...definition, paths }, { ...config, rateLimit: 'off' }, logger, {}, () => ({
      routes() {},
    }));
  t.throws(create, { message: /^\/v2\/x is below none of the prefixes of x / });

  const app = createApp({ logger, errorBodyFor: () => v2Body, translate: () => undefined });
  t.teardown(() => app.close());
  const read = view('Thing', Type.Object({ id: Type.String() }), ({ id }: { id: string }) => ({ id }));
  const profiles = ['a', 'b'].map((name) => ({ name, about: '', errorBody: v2Body, read }));
  const resource = {
    noun: { one: 'a thing', many: 'things' },
    idPrefix: 'thg',
    paths: [{ prefix: '/things', profiles }],
    operations: {},
    example: { id: 'thg_1', version: 1 },
  };
  const options = {
    authenticate: async () => {},
    idempotencyKeys: {} as IdempotencyStore,
    concurrency: createConcurrencyLimit(),
  };
  t.throws(() => mountResource(app, resource, options), {
    message: '/things/:id is read in one profile, not in a and b',
  });
});

t.test('stop() stops every part, and reports failures', async (t) => {
  const issuer = await createTestIssuer(t);
  const stopped: string[] = [];
  const part = (name: string, fails: boolean) => ({
    start() {},
    async stop() {
      stopped.push(name);
      if (fails) throw new Error(`${name} does not stop`);
    },
  });
  const service = createResourceService(
    { name: 'parts', prefixes: [], paths: [], document: { title: 'Parts', description: '' } },
    {
      publicUrl: issuer.issuer,
      identityUrl: issuer.issuer,
      clientSecret: issuer.client.secret,
      mongodbUri: await testDatabase(t),
      rateLimit: 'off',
    },
    logger,
    { broadcast: issuer.broadcast },
    () => ({ routes() {}, background: [part('first', true), part('second', false)] }),
  );
  t.equal(await service.unready(), 'not yet connected to its database');
  // The issuer does not know its client, so it waits until it is stopped.
  service.start().catch(() => {});
  const failure = await service.stop().catch((error: unknown) => error);
  t.match(failure, { errors: [{ message: 'first does not stop' }] });
  t.same(stopped, ['second', 'first']);
});

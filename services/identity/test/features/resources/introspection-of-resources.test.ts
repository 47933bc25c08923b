import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { listen } from '@gatehouse/testing/listen';
import t from 'tap';
import { build, MACHINE, WEB } from '../../build.ts';
import { tokensFor } from '../../tokens.ts';

/** The server of the resources, which proves them by its metadata (RFC 9728) while the status is 200. */
const site = { status: 200 };
const server = createServer(({ url = '' }, response) => {
  const resource = origin + url.replace('/.well-known/oauth-protected-resource', '');
  const body = JSON.stringify({ resource, authorization_servers: [built.base] });
  response.writeHead(site.status, { 'content-type': 'application/json' }).end(body);
});
const origin = `http://127.0.0.1:${await listen(t, server)}`;
const built = await build(t, { checkResponses: true, config: { resourceNetworks: ['127.0.0.0/8'] } });
const { call, form } = built;
const PATH = '/api/v1/resources';
const [admin, ann] = [await built.login('admin'), await built.login('ann')];
const READ = { name: 'calendar:read', description: 'Read your appointments' };
const WRITE = { name: 'calendar:write', description: 'Make appointments in your name' };
const register = async (more: object, token = ann) => {
  const draft = { name: 'Calendar', scopes: [READ, WRITE], ...more };
  const { status, body } = await call('POST', PATH, token, draft);
  if (status !== 201) throw new Error(JSON.stringify(body));
  return String(body.id);
};

t.test('a token is introspected as a refresh would be judged', async (t) => {
  const machine = await built.createApplication(admin, {
    name: 'Of another',
    type: 'machine',
    scopes: ['read:data'],
  });
  const introspecting = async (token: string) => {
    const client = await built.createApplication(token, { name: 'API', type: 'resource', scopes: [] });
    return async (of: string) => (await form({ token: of, ...client }, {}, '/oauth2/introspect')).body.active;
  };
  const [own, others] = [await introspecting(ann), await introspecting(admin)];
  const everything = { ...READ, description: 'Delete everything' };
  const patch = (body: object) => async (at: string) => {
    t.equal((await call('PATCH', at, ann, body)).status, 200);
  };
  const again =
    (token: string, status: number, more: object = {}) =>
    async (at: string, draft: object) => {
      t.equal((await call('DELETE', at, ann)).status, 204);
      // Tokens say when they were issued in whole seconds.
      await sleep(1000);
      site.status = status;
      await register({ ...draft, ...more }, token);
    };
  const listed = { applications: [WEB.client_id, machine.client_id] };
  for (const [name, event, [person, application]] of [
    ['unchanged', async () => undefined, [true, true]],
    ['another name', patch({ name: 'Other' }), [true, true]],
    ['another order of scopes', patch({ scopes: [WRITE, READ] }), [true, true]],
    ['a scope less', patch({ scopes: [WRITE] }), [false, false]],
    ['a scope that means more', patch({ scopes: [everything, WRITE] }), [false, true]],
    ['no applications', patch({ applications: [] }), [false, false]],
    ['registered again', again(ann, 200), [false, false]],
    ['of another person', again(admin, 200), [false, false]],
    ['of another person, unverified', again(admin, 404, { applications: null }), [false, false]],
    [
      'not verified any more',
      async (at: string) => {
        site.status = 404;
        await patch({ scopes: [WRITE, READ] })(at);
      },
      [false, false],
    ],
  ] as const) {
    site.status = 200;
    const draft = {
      identifier: `${origin}/introspected/${name.replace(/\W+/g, '-')}`,
      ...listed,
    };
    const at = `${PATH}/${await register(draft)}`;
    const more = { scope: 'calendar:read', resource: draft.identifier };
    const { access_token: ofPerson } = await tokensFor(built, { more });
    const { client_id, client_secret } = machine;
    const credentials = { grant_type: 'client_credentials', client_id, client_secret };
    const ofMachine = String((await form({ ...credentials, ...more })).body.access_token);
    t.same([await own(ofPerson), await own(ofMachine)], [true, true], `${name}: before`);
    await event(at, draft);
    const client = { client_id, client_secret, token: ofMachine };
    const byClient = (await form(client, {}, '/oauth2/introspect')).body.active;
    t.same([await own(ofPerson), await own(ofMachine), byClient], [person, application, application], name);
    t.same([await others(ofPerson), await others(ofMachine)], [false, false], `${name}: by others`);
  }
  site.status = 200;
});

t.test('an application that is transferred has to be listed again, also if it comes back', async (t) => {
  const machine = await built.createApplication(ann, {
    name: 'Friend',
    type: 'machine',
    scopes: ['read:data'],
  });
  const { client_id } = machine;
  const identifier = `${origin}/listed`;
  const id = await register({ identifier, applications: [MACHINE.client_id, client_id] });
  await built.createPerson('tia');
  const tia = await built.login('tia');
  const application = `/api/v1/applications/${client_id}`;
  const move = async (from: string, to: string, name: string) => {
    const { body } = await call('POST', `${application}/transfer`, from, { to: name });
    t.equal((await call('POST', `/api/v1/transfers/${body.id}/accept`, to)).status, 200);
  };
  const ask = async (by: string) => {
    const { body } = await call('POST', `${application}/secrets`, by, {});
    const client_secret = String(body.client_secret);
    const asked = { grant_type: 'client_credentials', client_id, client_secret, resource: identifier };
    return (await form(asked)).status;
  };
  const list = async () => (await call('GET', `${PATH}/${id}`, ann)).body.applications;
  t.equal(await ask(ann), 200);
  await move(ann, tia, 'tia');
  t.equal(await ask(tia), 400);
  t.same(await list(), [MACHINE.client_id]);
  await move(tia, ann, 'ann');
  t.equal(await ask(ann), 400);
  await call('PATCH', `${PATH}/${id}`, ann, { applications: [client_id] });
  t.equal(await ask(ann), 200);
});

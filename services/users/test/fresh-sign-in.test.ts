import { MULTI_FACTOR, SINGLE_FACTOR } from '@gatehouse/tokens/acr';
import t from 'tap';
import { ALL, build, PASSWORD } from './build.ts';

const { base, identity, issuer, call, created, machine } = await build(t, { freshSignIn: 'on' });
const NOW = Math.floor(Date.now() / 1000);
const signedIn = (sub: string, role: string, seconds?: number) =>
  issuer.sign({
    ...{ sub, roles: [role], scope: ALL },
    ...(seconds === undefined ? {} : { auth_time: NOW - seconds }),
  });

t.test(
  'a change by an admin of the account of somebody else, and what ends the own one, take a fresh sign-in (RFC 9470 §3)',
  async (t) => {
    const [admin, ann] = [await created(), await created()];
    const document = await (await fetch(`${base}/openapi/users.json`)).json();
    const { paths } = document as { paths: Record<string, Record<string, { security?: unknown[] }>> };
    const changes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([method, { security = [] }]) => method !== 'get' && security.length > 0)
        .map(([method]) => [method.toUpperCase(), path] as const),
    );
    t.ok(changes.length > 20, `${changes.length} changes`);
    for (const [method, path] of changes) {
      const challenged = async (token: string, id: string) => {
        const { status, headers } = await call(method, path.replace('{id}', id), token, {});
        return status === 401 && /insufficient_user_auth/.test(headers.get('www-authenticate') ?? '');
      };
      const name = `${method} ${path}`;
      t.ok(await challenged(await signedIn(admin.id, 'admin', 360), ann.id), name);
      t.ok(await challenged(await signedIn(admin.id, 'admin'), ann.id), `${name} by an API key`);
      const isEnd = method === 'DELETE' || path.endsWith('/revocations');
      if (isEnd) t.ok(await challenged(await signedIn(ann.id, 'user', 360), ann.id), `${name} by the person`);
      if (method === 'DELETE') continue;
      t.notOk(await challenged(await signedIn(admin.id, 'admin', 60), ann.id), `${name}, fresh`);
      t.notOk(await challenged(machine, ann.id), `${name} by a trusted application`);
      if (path.includes('{id}') && !isEnd) {
        t.notOk(await challenged(await signedIn(ann.id, 'user', 360), ann.id), `${name} by the person`);
      }
    }
  },
);

t.test(
  'another address of an account with a second factor takes a fresh sign-in with one (RFC 9470 §3)',
  async (t) => {
    const { id } = await created();
    identity.withSecondFactor.add(id);
    const body = { email: 'ann-elsewhere@example.org', current_password: PASSWORD };
    const change = async (claims: object) => {
      const token = await issuer.sign({
        sub: id,
        client_id: 'gatehouse-login',
        roles: ['user'],
        scope: `${ALL} manage:apps`,
        ...claims,
      });
      return (await call('PUT', `/v2/users/${id}`, token, body)).status;
    };
    for (const [claims, status] of [
      [{ auth_time: NOW - 360, acr: MULTI_FACTOR }, 401],
      [{ auth_time: NOW, acr: SINGLE_FACTOR }, 401],
      [{ auth_time: NOW, acr: MULTI_FACTOR }, 200],
    ] as const)
      t.equal(await change(claims), status, JSON.stringify(claims));
    identity.withSecondFactor.delete(id);
    body.email = 'ann-again@example.org';
    t.equal(await change({ auth_time: NOW - 360, acr: SINGLE_FACTOR }), 200, 'the password alone signs in');
  },
);

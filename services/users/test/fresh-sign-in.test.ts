import t from 'tap';
import { ALL, build } from './build.ts';

const { base, issuer, call, created, machine } = await build(t, { freshSignIn: 'on' });
const NOW = Math.floor(Date.now() / 1000);
const signedIn = (sub: string, role: string, seconds?: number) =>
  issuer.sign({
    ...{ sub, roles: [role], scope: ALL },
    ...(seconds === undefined ? {} : { auth_time: NOW - seconds }),
  });

t.test(
  'every change by an admin of the account of somebody else takes a fresh sign-in (RFC 9470 §3)',
  async (t) => {
    const [admin, ann] = [await created({ role: 'admin' }), await created()];
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
      if (method === 'DELETE') continue;
      t.notOk(await challenged(await signedIn(admin.id, 'admin', 60), ann.id), `${name}, fresh`);
      t.notOk(await challenged(machine, ann.id), `${name} by a trusted application`);
      if (path.includes('{id}')) {
        t.notOk(await challenged(await signedIn(ann.id, 'user', 360), ann.id), `${name} by the person`);
      }
    }
  },
);

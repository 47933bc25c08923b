import t from 'tap';
import { build } from '../../build.ts';

const built = await build(t, {});
const admin = await built.login('admin');

type Kind = { path: string; draft: object; changes: [object, object] };
const KINDS: Record<string, Kind> = {
  application: {
    path: '/api/v1/applications',
    draft: { name: 'Shop', type: 'machine', scopes: ['read:data'] },
    changes: [{ name: 'One' }, { name: 'Two' }],
  },
  API: {
    path: '/api/v1/resources',
    draft: {
      ...{ identifier: 'https://one.example.org/', name: 'Notes' },
      scopes: [{ name: 'notes:read', description: 'Read your notes' }],
    },
    changes: [{ name: 'One' }, { name: 'Two' }],
  },
  'trusted issuer': {
    path: '/api/v1/trusted-issuers',
    draft: { issuer: 'https://ci.example.org', kinds: ['workload'] },
    changes: [{ scopes: ['read:data'] }, { scopes: ['read:users'] }],
  },
  'identity provider': {
    path: '/api/v1/identity-providers',
    draft: {
      ...{ id: 'acme', label: 'Acme', issuer: 'https://id.acme.example', enabled: false },
      ...{ client_id: 'gatehouse', client_secret: 'a-secret' },
    },
    changes: [{ label: 'One' }, { label: 'Two' }],
  },
};

for (const [kind, { path, draft, changes }] of Object.entries(KINDS)) {
  t.test(`of two changes of one version of an ${kind}, one gets 412`, async (t) => {
    const create = async () => {
      const { status, body } = await built.call('POST', path, admin, draft);
      t.equal(status, 201, JSON.stringify(body));
      return `${path}/${body.id ?? body.client_id}`;
    };
    const send = async (url: string, method: string, etag: string, body?: object) => {
      const response = await fetch(built.base + url, {
        method,
        headers: {
          authorization: `Bearer ${admin}`,
          'if-match': etag,
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: response.status, etag: String(response.headers.get('etag')) };
    };
    let url = await create();
    let { etag } = await send(url, 'GET', '*');
    // Several times, so that they overlap in one of them.
    for (let i = 0; i < 10; i += 1) {
      const sent = await Promise.all(changes.map((change) => send(url, 'PATCH', etag, change)));
      t.strictSame(sent.map(({ status }) => status).sort(), [200, 412]);
      etag = sent.find(({ status }) => status === 200)?.etag ?? '';
      t.equal((await send(url, 'GET', '*')).etag, etag);
    }
    for (let i = 0; i < 5; i += 1) {
      const [changed, removed] = await Promise.all([
        send(url, 'PATCH', etag, changes[0]),
        send(url, 'DELETE', etag),
      ]);
      t.match([changed?.status, removed?.status].join(' '), /^(?:200 412|(?:404|412) 204)$/);
      if (removed?.status === 412) await send(url, 'DELETE', '*');
      url = await create();
      etag = (await send(url, 'GET', '*')).etag;
    }
  });
}

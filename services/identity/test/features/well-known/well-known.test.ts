import t from 'tap';
import { build } from '../../build.ts';

const contact = 'mailto:security@example.com';
const built = await build(t, { config: { securityContact: contact } });

t.test('password managers find the page on which a password is changed', async (t) => {
  const response = await fetch(`${built.base}/.well-known/change-password`, { redirect: 'manual' });
  t.same([response.status, response.headers.get('location')], [302, '/account/password']);
});

t.test('security.txt names the contact, and expires within a year (RFC 9116 §2.5)', async (t) => {
  const response = await fetch(`${built.base}/.well-known/security.txt`);
  t.match(response.headers.get('content-type'), 'text/plain; charset=utf-8');
  const fields = Object.fromEntries(
    (await response.text())
      .trim()
      .split('\n')
      .map((line) => line.split(/: (.*)/)),
  );
  t.equal(fields.Contact, contact);
  const days = (new Date(fields.Expires).getTime() - Date.now()) / 86_400_000;
  t.ok(days > 100 && days < 365, `${days} days`);
  const without = await build(t);
  t.equal((await fetch(`${without.base}/.well-known/security.txt`)).status, 404);
});

t.test('programs find the API with its documents (RFC 9727)', async (t) => {
  const response = await fetch(`${built.base}/.well-known/api-catalog`);
  t.match(
    response.headers.get('content-type'),
    'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
  );
  t.match(await response.json(), {
    linkset: [
      {
        anchor: `${built.base}/api`,
        'service-desc': [{ href: `${built.base}/openapi.json` }],
        'service-meta': [{ href: `${built.base}/.well-known/oauth-protected-resource/api` }],
      },
      { anchor: `${built.base}/mcp` },
    ],
  });
});

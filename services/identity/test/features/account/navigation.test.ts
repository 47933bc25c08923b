import t from 'tap';
import { build } from '../../build.ts';
import { signedIn } from '../../pages.ts';
import { startUpstream } from '../identity-providers/upstream.ts';

const upstream = await startUpstream(t);
const built = await build(t, { config: { identityProviders: upstream.settings() } });
upstream.start(built.base);

t.test(
  'the account begins with the person, then how they sign in and where, and ends with their data',
  async (t) => {
    await built.createPerson('olga');
    const { html } = await (await signedIn(built, 'olga')).get('/account');
    const [nav = ''] = /<nav aria-label="Your account">.*?<\/nav>/s.exec(html) ?? [];
    t.same(
      [...nav.matchAll(/href="([^"]+)"/g)].map(([, path]) => path),
      [
        '/account',
        ...['/account/security', '/account/password', '/account/connected-accounts'],
        ...['/account/sessions', '/account/applications', '/account/export'],
      ],
    );
    const legends = [...html.matchAll(/<legend>([^<]*)/g)].map(([, legend]) => legend);
    t.same(legends, ['About you', 'Signing in', 'Picture']);
  },
);

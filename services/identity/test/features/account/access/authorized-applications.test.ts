import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { authorizeUrl, build, ownApplication, signInAndAllow } from '../../../build.ts';

const uri = (host: string) => `https://${host}.example.org/callback`;
/** What follows the scheme looks like a website, and is none. */
const PRIVATE = 'com.example.app://bank.example.org/callback';
const HOSTS = ['first', 'second', 'third'];
const ofPeople = { trusted: false, scopes: ['openid'] };
const built = await build(t, {
  applications: [
    ownApplication('app_hosts', { ...ofPeople, type: 'web', redirectUris: HOSTS.map(uri) }),
    ownApplication('app_device', {
      ...ofPeople,
      name: 'On a device',
      type: 'native',
      redirectUris: [PRIVATE],
    }),
  ],
});

t.test('the page of applications shows the hosts that received a code', async (t) => {
  const browser = built.browser();
  const shown = async () => {
    const { html } = await browser.get('/account/applications');
    const text = html.replaceAll(/<[^>]+>/g, '');
    return HOSTS.filter((host) => text.includes(`${host}.example.org`));
  };
  const receive = (host: string) =>
    signInAndAllow(
      browser,
      authorizeUrl({ client_id: 'app_hosts', redirect_uri: uri(host), scope: 'openid' }),
    );
  for (const host of ['second', 'third', 'second']) {
    t.equal((await receive(host)).url.host, `${host}.example.org`);
    await until(async () => (await shown()).join() === host, 5000);
  }
});

t.test('an application on a device shows no host, whatever its redirect URI looks like', async (t) => {
  const browser = built.browser();
  const request = {
    ...{ client_id: 'app_device', redirect_uri: PRIVATE, scope: 'openid' },
    ...{ code_challenge: 'c'.repeat(43), code_challenge_method: 'S256' },
  };
  const responded = await signInAndAllow(browser, authorizeUrl(request));
  t.equal(responded.url.protocol, 'com.example.app:');
  const grants = (await built.database()).collection('oidc_grants');
  await until(async () => (await grants.countDocuments({ redirect_uri: PRIVATE })) === 1, 5000);
  const { html } = await browser.get('/account/applications');
  t.match(html, 'On a device');
  t.notMatch(html, 'bank.example.org');
});

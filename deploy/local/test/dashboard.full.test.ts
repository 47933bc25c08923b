import { setTimeout as sleep } from 'node:timers/promises';
import { inChromium, openPage, type Page, signInTo } from '@gatehouse/testing/chromium';
import { until } from '@gatehouse/testing/processes';
import * as client from 'openid-client';
import t, { type Test } from 'tap';
import { signInAndAllow, startServer } from './clients/set-up.ts';

type Account = { username: string; password: string };

const CALLBACK = 'http://127.0.0.1:49152/callback';

await inChromium(t, async (browser) => {
  t.setTimeout(300_000);
  const server = await startServer(t);
  const { issuer, demo } = server;

  /** A browser of its own, in which somebody is signed in to the dashboard. */
  async function signedIn(t: Test, account: Account): Promise<Page> {
    const { page } = await openPage(t, browser, { permissions: ['clipboard-read', 'clipboard-write'] });
    await signInTo(page, `${issuer}/dashboard`, account);
    return page;
  }

  const copied = async (page: Page, id: string) => {
    await page.click(`[data-copy="${id}"]`);
    await page.locator(`[data-copy="${id}"]`, { hasText: 'Copied' }).waitFor();
    return page.evaluate<string>('navigator.clipboard.readText()');
  };

  t.test('a developer’s first hour', async (t) => {
    const page = await signedIn(t, demo.admin);
    await page.click('.choice:has-text("New application")');
    await page.click('.choice:has-text("Web application")');
    await page.fill('#name', 'First hour');
    await page.fill('#redirect_uris', CALLBACK);
    await page.click('summary:has-text("Permissions")');
    await page.check('[id="scopes-read:data"]');
    await page.click('button:has-text("Create application")');
    await page.waitForURL('**/quick-start?done=created');
    const secret = await copied(page, 'new-credential');
    const application = page.url().replace(/\/quick-start.*/, '');
    const clientId = await copied(page, 'id');

    const configure = (clientSecret: string) =>
      client.discovery(new URL(issuer), clientId, clientSecret, undefined, {
        execute: [client.allowInsecureRequests],
      });
    const config = await configure(secret);
    const pkceCodeVerifier = client.randomPKCECodeVerifier();
    const expectedState = client.randomState();
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: CALLBACK,
      scope: 'openid profile email read:data',
      state: expectedState,
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    });
    const callback = await signInAndAllow(server.browser(), url, demo.user);
    const tokens = await client.authorizationCodeGrant(config, callback, { pkceCodeVerifier, expectedState });
    t.match(await client.fetchUserInfo(config, tokens.access_token, demo.user.user_id), {
      sub: demo.user.user_id,
    });
    const began = performance.now();
    for (let i = 0; i < 25; i += 1) {
      t.equal(await server.statusOf('/api/v1/items', { token: tokens.access_token }), 200);
    }

    await page.goto(`${application}/usage`);
    await page
      .locator('.plot:has-text("Requests") .total', { hasText: /^Total [23]\d/ })
      .waitFor({ timeout: 15_000 });
    t.comment(`the requests were in the plot after ${performance.now() - began} ms`);
    t.ok(performance.now() - began < 10_000, 'they are in the plot within 10 s');

    // The secret is replaced while requests go on.
    let running = true;
    t.teardown(() => {
      running = false;
    });
    let current = config;
    const failures: unknown[] = [];
    let refreshed = 0;
    const requests = (async () => {
      while (running) {
        await client.refreshTokenGrant(current, tokens.refresh_token ?? '').then(
          () => (refreshed += 1),
          (error: unknown) => failures.push(error),
        );
        await sleep(20);
      }
    })();
    await page.goto(`${application}/credentials`);
    await page.click('a:has-text("Rotate")');
    await page.click('button:has-text("Rotate secret")');
    current = await configure(await copied(page, 'new-credential'));
    await until(() => refreshed > 20, 20_000);
    await page.locator('a:has-text("Remove")').first().click();
    await page.click('button:has-text("Remove secret")');
    await page.getByText('The secret no longer works.').waitFor();
    const before = refreshed;
    await until(() => refreshed > before + 20, 20_000);
    running = false;
    await requests;
    t.same(failures, [], 'no request failed');
    const old = client.refreshTokenGrant(config, tokens.refresh_token ?? '');
    t.equal(
      await old.catch(({ error }: { error?: string }) => error),
      'invalid_client',
      'the old secret is refused',
    );

    await page.click('summary:has-text("New API key")');
    await page.fill('#name', 'export');
    await page.check('#scopes-read\\:data');
    await page.click('button:has-text("Create API key")');
    const authorization = `ApiKey ${await copied(page, 'new-credential')}`;
    t.equal(await server.statusOf('/api/v1/items', { authorization }), 200);
    await page.click('a:has-text("Revoke")');
    await page.click('button:has-text("Revoke key")');
    await page.getByText('The API key no longer works.').waitFor();
    t.equal(await server.statusOf('/api/v1/items', { authorization }), 401, 'the next call fails');

    await page.goto(`${application}/delete`);
    await page.fill('#confirmation', 'First hour');
    await page.click('button:has-text("Delete application")');
    await page.getByText('The application is deleted.').waitFor();
  });

  t.test('an admin’s day', async (t) => {
    const victim = await signedIn(t, demo.user);
    await victim.goto(`${issuer}/dashboard/items`);
    const page = await signedIn(t, demo.admin);
    await page.click('nav.side >> text=Users');
    await page.locator('#search-q').pressSequentially('dem');
    await page.locator('#count', { hasText: '1 user found' }).waitFor();
    await page.click('tbody a:has-text("demo")');
    await page.getByText('Chrome on Linux').first().waitFor();
    await page.click('a:has-text("Deactivate (block) account")');
    await page.click('button:has-text("Deactivate account")');
    await page.getByText('The account is deactivated').waitFor();
    await victim.reload();
    t.match(new URL(victim.url()).pathname, /^\/sign-in\//, 'the session is dead');
    await page.click('text=Audit log of this account');
    const entry = page.locator('tbody tr').filter({ hasText: 'Account deactivated' });
    t.match(await entry.first().textContent(), /Account deactivated.*admin.*demo.*dashboard.*127\.0\.0\.1/);
    await page.goBack();
    await page.click('button:has-text("Activate")');
    await page.getByText('The account is active.').waitFor();
  });
});

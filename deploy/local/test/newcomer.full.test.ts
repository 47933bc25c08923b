import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { accessibilityViolations, inChromium, openPage, type Page } from '@gatehouse/testing/chromium';
import { listen } from '@gatehouse/testing/listen';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { startGatehouse, temporaryDir } from './gatehouse.ts';

// The way of a developer who meets the product for the first time, by what the pages show: after the first, no address is typed.

const SECONDS = 120;

await inChromium(t, (browser) =>
  t.test('from the landing page to the first webhook', async (t) => {
    const { demo, base: address } = await startGatehouse(t, temporaryDir(t));
    const base = demo.base_url;
    const received: string[] = [];
    const receiver = createServer(async (request, response) => {
      received.push(JSON.parse(await text(request)).type);
      response.writeHead(204).end();
    });
    const endpoint = `http://127.0.0.1:${await listen(t, receiver)}/`;
    const { page, complaints } = await openPage(t, browser);
    const violations: string[] = [];
    const begun = performance.now();

    /** Looks at the page that has come, and goes on by a link or button of its main part. */
    async function follow(name: string | RegExp, within = 'main'): Promise<void> {
      violations.push(...(await accessibilityViolations(page)));
      const scope = page.locator(within);
      const way = scope.getByRole('link', { name }).or(scope.getByRole('button', { name })).first();
      await way.click({ timeout: 5000 }).catch(async (error: unknown) => {
        throw new Error(`no ${name} at ${page.url()}: ${await page.locator('main').textContent()}`, {
          cause: error,
        });
      });
      await page.waitForLoadState();
    }
    const open = (section: string) => follow(new RegExp(`^${section}$`), 'nav');
    const shown = async (page: Page, id: string) => (await page.locator(`#${id}`).textContent()) ?? '';

    async function call(path: string, credential: { id: string; secret: string }): Promise<Response> {
      const form = new URLSearchParams({
        ...{ grant_type: 'client_credentials', client_id: credential.id, client_secret: credential.secret },
      });
      const issued = await fetch(`${base}/oauth2/token`, { method: 'POST', body: form });
      const { access_token: token } = (await issued.json()) as { access_token: string };
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      return fetch(base + path, { method: 'POST', headers, body: '{"name":"first","value":1}' });
    }

    // By another name of this machine than that which it printed.
    await page.goto(address);
    await follow('Sign up');
    await page.fill('#username', 'newcomer');
    await page.fill('#email', 'newcomer@example.org');
    await follow('Use a password instead');
    await page.fill('#password', 'correct horse battery');
    await follow('Create account');
    await follow('Dashboard', 'header');
    await follow('New application');
    await follow(/^Machine-to-machine/);
    await page.fill('#name', 'Night job');
    await page.check('[id="scopes-read:data"]');
    await follow(/^Create application$/);
    const credential = {
      id: await shown(page, 'new-credential-client'),
      secret: await shown(page, 'new-credential'),
    };

    const refused = await call('/api/v1/items', credential);
    t.equal(refused.status, 403, 'the first request has not all that it needs');
    const requestId = refused.headers.get('x-request-id') ?? '';
    await open('Requests');
    // Without a reload, which would break off the refresh of the list.
    const html = async () => (await page.request.get(page.url())).text();
    await until(async () => (await html()).includes('>Filters<'), 20_000);
    await open('Requests');
    await page.click('summary:has-text("Filters")');
    await page.fill('[name="request_id"]', requestId);
    await follow('Search');
    await until(async () => {
      await page.reload();
      return (await page.locator('main').textContent())?.includes('This needs the scope write:data') === true;
    }, 20_000);
    await follow('Add a scope to the application');
    await page.check('[id="scopes-write:data"]');
    await follow('Save');
    await page.getByText('The changes are saved').or(page.getByText(/saved/i)).first().waitFor();
    const accepted = await call('/api/v1/items', credential);
    t.equal(accepted.status, 201, `and then it has: ${await accepted.text()}`);

    await open('Webhooks');
    await follow(/^(?:New|Create a) webhook$/);
    await page.fill('#url', endpoint);
    await page.check('[name="events"][value="*"]');
    await follow('Create webhook');
    await follow('Send a test');
    await until(() => received.includes('webhook.test'), 10_000);
    const others = received.filter((type) => type !== 'notification.sent');
    t.strictSame(others, ['webhook.test'], 'beside the mail about the new webhook');

    const { page: other } = await openPage(t, browser);
    await other.goto(`${address}/dashboard`);
    await other.fill('#username', 'newcomer');
    await other.fill('#password', 'correct horse battery');
    await other.click('button.primary');
    await other.waitForURL(`${base}/dashboard`);

    const seconds = (performance.now() - begun) / 1000;
    t.comment(`it took ${seconds.toFixed(1)} s`);
    t.ok(seconds < SECONDS, `${seconds} s`);
    t.strictSame(violations, [], 'every page is accessible');
    t.strictSame(complaints, []);
  }),
);

import t from 'tap';
import { build, textOf } from '../../build.ts';

t.test('deliveries by status, and sending one now that waits', async (t) => {
  const { call, signedIn } = await build(t, { notifications: true });
  const app = { name: 'Shop', type: 'machine', scopes: ['read:data'] };
  t.equal((await call('POST', '/api/v1/applications', 'ann', app)).status, 201);
  const draft = { url: 'https://shop.example.org/hooks', events: ['order.*'] };
  const { body: webhook } = await call<{ id: string }>('POST', '/api/v1/webhooks', 'ann', draft);
  const path = `/dashboard/webhooks/${webhook.id}`;
  t.equal((await call('POST', `/api/v1/webhooks/${webhook.id}/test`, 'ann')).status, 202);
  const { browser } = await signedIn('ann');
  const about = textOf(await browser.get(path));
  t.match(about, 'No deliveries ended');
  for (const [query, isListed] of [
    ['', true],
    ['?status=pending', true],
    ['?status=failed', false],
  ] as const) {
    const page = await browser.get(`${path}/deliveries${query}`);
    t.equal(textOf(page).includes('webhook.test'), isListed, query);
    t.equal(page.html.includes('Send now'), isListed, query);
  }
  t.match(textOf(await browser.get(`${path}/deliveries?status=failed`)), 'There are no failed deliveries');
});

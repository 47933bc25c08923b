import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { build, heading, PASSWORD } from './build.ts';

const built = await build(t, { refundLimit: 1 });

/** A delivered order of 2.50 USD. */
async function delivered(): Promise<string> {
  const draft = { name: 'Tea', price: 2.5, currency: 'USD', category: 'Tea', stock: 9 };
  const { body: product } = await built.call<{ id: string }>('POST', '/v2/products', 'admin', draft);
  const order = { items: [{ product_id: product.id, quantity: 1 }], currency: 'USD' };
  const { body } = await built.call<{ id: string }>('POST', '/v2/orders', 'admin', order);
  for (const status of ['confirmed', 'processing', 'shipped', 'delivered']) {
    await built.call('PATCH', `/v2/orders/${body.id}/status`, 'admin', { status });
  }
  return body.id;
}

/** Sets the clock of this process six minutes ahead. */
function passSixMinutes(t: { teardown(fn: () => unknown): void }): void {
  const { Date: RealDate } = globalThis;
  t.teardown(() => Object.assign(globalThis, { Date: RealDate }));
  globalThis.Date = class extends RealDate {
    constructor(...time: [] | [number]) {
      super(...((time.length === 0 ? [RealDate.now() + 360_000] : time) as [number]));
    }
    static override now = () => RealDate.now() + 360_000;
  } as DateConstructor;
}

t.test('what takes a fresh sign-in asks for one, and goes back to where it was', async (t) => {
  const id = await delivered();
  const { browser } = await built.signedIn('admin');
  const form = await browser.get(`/dashboard/orders/${id}/refund`);
  const linked = `/dashboard/try/patch_status_v2_orders?path.id=${id}`;
  const tried = await browser.get(linked);
  const impersonation = await browser.get(`/dashboard/users/${built.people.ann.id}/impersonate`);
  const machine = { name: 'Pipeline', type: 'machine', scopes: ['read:data'] };
  const { body: app } = await built.call<{ client_id: string }>(
    ...(['POST', '/api/v1/applications', 'admin', machine] as const),
  );
  const mark = `/dashboard/applications/${app.client_id}/deployer`;
  const marking = await browser.get(mark);
  passSixMinutes(t);
  // By then, nothing has been heard of revocations for too long.
  for (const path of [`/v2/orders/${id}`, '/api/v1/auth/permissions']) {
    await until(async () => (await built.call('GET', path)).status === 200, 60_000);
  }
  const first = await browser.submit(impersonation, { reason: 'Ticket 4711' }, '/impersonate');
  t.equal(heading(first), 'Confirm that it is you');
  t.equal(heading(await browser.submit(marking, {}, mark)), 'Confirm that it is you');
  const again = await browser.submit(tried, { body: '{"status":"refunded"}' }, 'Send the request');
  t.equal(heading(again), 'Confirm that it is you', again.html);
  const asked = await browser.submit(form, {}, `action="/dashboard/orders/${id}/refund"`);
  t.equal(heading(asked), 'Confirm that it is you');
  const status = async () =>
    (await built.call<{ status: string }>('GET', `/v2/orders/${id}`, 'admin')).body.status;
  t.equal(await status(), 'delivered');
  const back = await browser.submit(asked, { username: 'admin', password: PASSWORD });
  t.equal(back.url.pathname, `/dashboard/orders/${id}/refund`);
  await browser.submit(back, {}, `action="/dashboard/orders/${id}/refund"`);
  t.equal(await status(), 'refunded');
});

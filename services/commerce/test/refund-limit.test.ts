import t from 'tap';
import { ALL, ANN, build } from './build.ts';

const { call, issuer, machine, newProduct, order } = await build(t, { refundLimit: 100 });
const NOW = Math.floor(Date.now() / 1000);
/** A token of staff who signed in so many seconds ago. */
const staff = (seconds?: number) =>
  issuer.sign({
    sub: ANN,
    roles: ['admin'],
    scope: ALL,
    ...(seconds === undefined ? {} : { auth_time: NOW - seconds }),
  });

/** A delivered order of so many pieces at 12.50 USD. */
async function delivered(pieces: number): Promise<string> {
  const product = await newProduct(pieces);
  const { body } = await order(machine, [[product, pieces]], { user_id: ANN });
  const path = `/v2/orders/${body.id}/status`;
  for (const status of ['confirmed', 'processing', 'shipped', 'delivered']) {
    const { status: got } = await call('PATCH', path, machine, { status });
    if (got !== 200) throw new Error(`${status}: ${got}`);
  }
  return path;
}

t.test('a refund above the limit takes a fresh sign-in (RFC 9470 §3)', async (t) => {
  const small = await delivered(8);
  t.equal((await call('PATCH', small, machine, { status: 'refunded' })).status, 200, 'exactly the limit');
  const large = await delivered(9);
  for (const [who, token] of [
    ['a machine', machine],
    ['a sign-in of ten minutes ago', await staff(600)],
    ['a token that does not say when', await staff()],
  ] as const) {
    const { status, headers } = await call('PATCH', large, token, { status: 'refunded' });
    t.equal(status, 401, who);
    t.equal(
      headers.get('www-authenticate')?.split(', resource_metadata')[0],
      'Bearer realm="gatehouse", error="insufficient_user_authentication", ' +
        'error_description="This needs a more recent sign-in.", max_age="300"',
    );
  }
  t.equal((await call('PATCH', large, await staff(600), { note: 'x', status: 'cancelled' })).status, 409);
  t.equal((await call('PATCH', large, await staff(60), { status: 'refunded' })).status, 200);
});

import t from 'tap';
import { build, PASSWORD } from '../../build.ts';
import { createAccount, linkTo, valueIn } from '../../pages.ts';
import { signInBy, startUpstream, verified } from './upstream.ts';

const upstream = await startUpstream(t);
const refreshing = await build(t, {
  config: { identityProviders: upstream.settings({ refresh_profile: true }) },
});
upstream.start(refreshing.base);

/** The profile, with the host of the picture, after somebody has signed in whom the provider calls so. */
async function profileOf(sub: string, name: string, picture?: string, built = refreshing) {
  const visitor = built.browser();
  const person = verified(sub, { name, ...(picture && { picture }) });
  const page = await signInBy(upstream, visitor, person);
  const [, host] = /Your picture is at ([\w.]+)\./.exec(page.html) ?? [];
  return { visitor, page, name: valueIn(page, 'name'), picture: host };
}

t.test('names and pictures follow the provider until the person changes them here', async (t) => {
  const first = await profileOf('ada', 'Ada Byron', 'https://one.example/p.png');
  t.strictSame([first.name, first.picture], ['Ada Byron', undefined], 'as at the first sign-in');
  const second = await profileOf('ada', 'Ada Lovelace', 'https://one.example/p.png');
  t.strictSame([second.name, second.picture], ['Ada Lovelace', 'one.example']);
  const bad = await profileOf('ada', 'A'.repeat(500), 'http://plain.example/p.png');
  t.strictSame([bad.name, bad.picture], [second.name, second.picture], 'but for what an account cannot have');
  await second.visitor.submit(second.page, { name: 'Countess' }, 'name="name"');
  await second.visitor.submit(second.page, {}, 'id="remove-picture"');
  const own = await profileOf('ada', 'Ada King', 'https://two.example/p.png');
  t.strictSame([own.name, own.picture], ['Countess', undefined]);
});

t.test(
  'the name of an account that was there before stays, and it gets a picture if it has none',
  async (t) => {
    const owner = refreshing.browser();
    const email = 'cora@elsewhere.example';
    await createAccount(owner, '/account', { username: 'cora', email, name: 'Cora' });
    await owner.submit(await owner.get(await linkTo(refreshing, email)), {});
    const { visitor, page } = await profileOf('cora', 'Somebody');
    await visitor.submit(page, { username: 'cora', password: PASSWORD });
    const { name, picture } = await profileOf('cora', 'Somebody', 'https://cora.example/p.png');
    t.strictSame([name, picture], ['Cora', 'cora.example']);
  },
);

t.test('by default, nothing follows', async (t) => {
  const built = await build(t, { config: { identityProviders: upstream.settings() } });
  upstream.start(built.base);
  await profileOf('eve', 'Eve', undefined, built);
  const { name, picture } = await profileOf('eve', 'Eva', 'https://eve.example/p.png', built);
  t.strictSame([name, picture], ['Eve', undefined]);
});

// Runs alone, as it measures time.
import t from 'tap';
import { commandsFor } from './configuration-commands.ts';
import { createUser, type Gatehouse, startGatehouse, temporaryDir, tokenOf } from './gatehouse.ts';

const OWNERS = ['ada', 'grace', 'edsger', 'barbara'];

/** A deployment with the accounts of the owners. */
async function deployment(): Promise<Gatehouse> {
  const gatehouse = await startGatehouse(t, temporaryDir(t));
  for (const owner of OWNERS) await createUser(gatehouse.base, await tokenOf(gatehouse), owner);
  return gatehouse;
}
const times = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));

/** 200 applications, 20 APIs, 10 identity providers and 100 webhooks. */
const PRODUCTION = {
  applications: times(200, (i) => ({
    ...{
      name: `Application ${i}`,
      owner: OWNERS[i % OWNERS.length],
      type: 'web',
      scopes: ['openid', 'read:data'],
    },
    ...{ redirect_uris: [`https://app-${i}.example.com/callback`], protected: i % 10 === 0 },
  })),
  resources: times(20, (i) => ({
    ...{
      identifier: `https://api-${i}.example.invalid/`,
      name: `API ${i}`,
      owner: OWNERS[i % OWNERS.length],
    },
    scopes: [{ name: 'read', description: 'Read all' }],
    applications: [`Application ${i}`, `Application ${i + 1}`],
  })),
  identity_providers: times(10, (i) => ({
    ...{ id: `provider-${i}`, label: `Provider ${i}`, enabled: false, issuer: `https://id-${i}.example.com` },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference.
    ...{ client_id: 'gatehouse', client_secret: '${env:ACME_CLIENT_SECRET}' },
  })),
  webhooks: times(100, (i) => ({ url: `https://hooks.example.com/${i}`, events: ['order.*'] })),
};

t.test(
  '330 objects: the export of one deployment makes another one equal, and is planned in five seconds',
  async (t) => {
    const [one, other] = [await deployment(), await deployment()];
    const commands = await commandsFor(temporaryDir(t), one);
    const applied = await commands.apply(PRODUCTION);
    t.equal(applied.status, 0, applied.output);
    const exported = await commands.export();
    const next = await commandsFor(temporaryDir(t), other);
    for (let i = 0; i < 10; i++) next.env[`PROVIDER_${i}_CLIENT_SECRET`] = 'one';
    const copied = await next.apply(exported);
    t.equal(copied.status, 0, copied.output);
    t.same({ ...(await next.export()), $schema: '' }, { ...exported, $schema: '' });
    const start = performance.now();
    t.match(await next.plan(exported), { status: 0 });
    const seconds = (performance.now() - start) / 1000;
    t.ok(seconds < 5, `${seconds.toFixed(1)} s`);
    t.comment(`planned in ${seconds.toFixed(1)} s`);
  },
);

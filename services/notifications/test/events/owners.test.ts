import t from 'tap';
import { createOwners } from '../../src/events/owners.ts';

const owner = {
  ...{ role: 'user', person: 'usr_1', scopes: ['read:data'] },
  ...{ client_ids: ['app_1'], visible_client_ids: ['app_1'] },
  ...{ owner: 'usr_1', epochs: { recovery: 0, authority: 0 }, credentials: [] },
};

t.test('an owner is asked for once, by however many, and again after a revocation', async (t) => {
  const asked: string[][] = [];
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const owners = createOwners({
    async request(_method, _path, body) {
      const { ids } = body as { ids: string[] };
      await gates[asked.push(ids) - 1]?.promise;
      return { status: 200, body: { owners: ids.map(() => owner) } };
    },
  } as Parameters<typeof createOwners>[0]);
  const found = Array.from({ length: 50 }, () => owners.find('usr_1'));
  gates[0]?.resolve();
  t.equal(new Set(await Promise.all(found)).size, 1);
  await owners.find('usr_1');
  t.strictSame(asked, [['usr_1']]);

  owners.revoked({ kind: 'client', id: 'app_1' });
  const before = owners.find('usr_1');
  owners.revoked({ kind: 'subject', id: 'usr_1' });
  const after = owners.find('usr_1');
  gates[1]?.resolve();
  await Promise.all([before, after]);
  t.strictSame(asked.flat(), ['usr_1', 'usr_1', 'usr_1'], 'not by what was asked before it');
});

t.test('what was asked before a revocation is not kept', async (t) => {
  const gate = Promise.withResolvers<void>();
  let asked = 0;
  const owners = createOwners({
    async request() {
      asked += 1;
      if (asked === 1) await gate.promise;
      return { status: 200, body: { owners: [{ ...owner, role: asked === 1 ? 'admin' : 'user' }] } };
    },
  } as Parameters<typeof createOwners>[0]);
  const before = owners.find('app_1');
  owners.revoked({ kind: 'subject', id: 'usr_1' });
  gate.resolve();
  await before;
  await owners.find('app_1');
  for (const [kind, id, isAsked] of [
    ['subject', 'usr_1', true],
    ['subject', 'usr_2', false],
    ['api_key', 'key_1', true],
    ['client', 'app_2', true],
    ['grant', 'app_1', false],
  ] as const) {
    const so = asked;
    owners.revoked({ kind, id });
    await owners.find('app_1');
    t.equal(asked - so, isAsked ? 1 : 0, `${kind} ${id}`);
  }
  t.equal(asked, 5);
});

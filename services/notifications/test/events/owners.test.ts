import t from 'tap';
import { createOwners } from '../../src/events/owners.ts';

const owner = { role: 'user', person: 'usr_1', client_ids: ['app_1'], scopes: ['read:data'] };

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

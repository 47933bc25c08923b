import { API_SCOPES, ceilingOf, MANAGE_APPS, OIDC_SCOPES, ROLES } from '@gatehouse/tokens/scopes';
import t from 'tap';
import { ownerPermissions, roleIn, withinCeiling } from '../../../src/core/applications/ownership.ts';

const SCOPES = [...OIDC_SCOPES, ...API_SCOPES, MANAGE_APPS];
const owned = { owner: 'usr_ann', trusted: false };

t.test('an application never exceeds its owner, whatever the roles', async (t) => {
  for (const role of ROLES) {
    const owner = { role, status: 'active', epoch: 3 } as const;
    const permissions = await ownerPermissions(owned, async (id) => (id === 'usr_ann' ? owner : undefined));
    t.equal(permissions.owner, owner);
    t.equal(permissions.active, true);
    t.same(
      permissions.within(SCOPES),
      SCOPES.filter((scope) => ceilingOf(role).some((allowed) => allowed === scope)),
      'in the order of the list',
    );
    t.notOk(permissions.within(SCOPES).includes(MANAGE_APPS), 'managing applications is beyond every role');
    for (const person of ROLES) {
      const lesser = ROLES[Math.min(ROLES.indexOf(role), ROLES.indexOf(person))];
      t.equal(roleIn(permissions, { role: person }), lesser, `${person} in an application of ${role}`);
    }
  }
});

t.test('an owner who is inactive or gone permits nothing', async (t) => {
  const inactive = { role: 'admin', status: 'inactive', epoch: 3 } as const;
  t.match(await ownerPermissions(owned, async () => inactive), { active: false, owner: inactive });
  const gone = await ownerPermissions(owned, async () => undefined);
  t.equal(gone.active, false);
  t.same(gone.within(SCOPES), []);
});

t.test('no owner limits a trusted application, nor one that has none', async (t) => {
  for (const application of [
    { owner: 'usr_ann', trusted: true },
    { owner: null, trusted: false },
  ]) {
    const permissions = await ownerPermissions(application, () => Promise.reject(new Error('not asked for')));
    t.match(permissions, { active: true, owner: undefined });
    t.same(permissions.within(SCOPES), SCOPES);
    t.equal(roleIn(permissions, { role: 'admin' }), 'admin');
  }
});

t.test('a scope that no role knows is within no ceiling', async (t) => {
  for (const role of ROLES) t.same(withinCeiling(['unknown', 'openid'], role), ['openid']);
});

import { walkProfiles } from '@gatehouse/testing/walk-profiles';
import t from 'tap';
import { ITEM } from '../src/item.ts';
import { ITEM_PATHS } from '../src/profiles/item-resource.ts';
import { ALL, build, ITEMS } from './build.ts';

const { call, issuer } = await build(t);
const token = await issuer.machine(ALL);

walkProfiles(t, {
  ...{ paths: ITEM_PATHS, call, token },
  ...{ stored: ITEM, internal: ['ownerId', 'updatedAt', 'version'] },
  values: () => ({ value: { colours: ['red'] } }),
  create: async () => (await call('POST', ITEMS, token, { name: 'a', value: 1 })).body.id,
  read: async (id) => (await call('GET', `${ITEMS}/${id}`, token)).body,
});

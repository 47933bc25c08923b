// Runs alone, as it measures time.
import { repetitions } from '@gatehouse/testing/repetitions';
import t from 'tap';
import { prepareForeignServers } from './foreign-servers.ts';
import { startGatehouse, temporaryDir } from './gatehouse.ts';
import { testTimes } from './revocation-times.ts';
import { prepareWays } from './revocation-ways.ts';

t.setTimeout(590_000);

t.test('APIs of others refuse what one process revokes', async (t) => {
  const servers = await prepareForeignServers(t);
  const { demo } = await startGatehouse(t, temporaryDir(t));
  const { api, ways } = await prepareWays({ identity: demo.base_url, users: demo.base_url }, demo.admin);
  const running = await servers.start(api, ['introspect', 'introspect']);
  await testTimes(t, running, ways, repetitions(1000));
});

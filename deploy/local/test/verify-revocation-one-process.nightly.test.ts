// Runs alone, as it measures time.
import { jsonRequest, loginToken } from '@gatehouse/testing/json-request';
import { repetitions } from '@gatehouse/testing/repetitions';
import t from 'tap';
import { prepareForeignServers } from './foreign-servers.ts';
import { startGatehouse, temporaryDir } from './gatehouse.ts';
import { testTimes } from './revocation-times.ts';
import { prepareWays } from './revocation-ways.ts';

type Tested = { language: string; sent_after_ms: number | null; applied_after_ms: number | null };

t.setTimeout(590_000);

t.test('APIs of others refuse what one process revokes', async (t) => {
  const servers = await prepareForeignServers(t);
  const { demo } = await startGatehouse(t, temporaryDir(t));
  const { api, ways } = await prepareWays({ identity: demo.base_url, users: demo.base_url }, demo.admin);
  const running = await servers.start(api, ['introspect', 'introspect']);
  await testTimes(t, running, ways, repetitions(1000));

  const resources = `${demo.base_url}/api/v1/resources`;
  const token = await loginToken(demo.base_url, demo.admin);
  const query = new URLSearchParams({ identifier: api.AUDIENCE });
  const found = await jsonRequest<{ data: { id: string }[] }>('GET', `${resources}?${query}`, { token });
  const test = `${resources}/${found.body.data[0]?.id}/revocation-test`;
  const tested = await jsonRequest<{ verifiers: Tested[] }>('POST', test, { token });
  t.equal(tested.body.verifiers.length, running.length);
  for (const { language, sent_after_ms: sent, applied_after_ms: applied } of tested.body.verifiers)
    t.ok(
      applied !== null && applied < 1000,
      `${language} has applied a test after ${applied} ms, sent after ${sent}`,
    );
});

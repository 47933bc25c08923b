import { logger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import { createLogoutNotifications } from '../../../src/features/backchannel-logout/logout-notifications.ts';

t.test('a client that describes itself in a document is not looked up to be notified', async (t) => {
  const lookedUp: string[] = [];
  const find = async (id: string) => void lookedUp.push(id);
  const { send, stop } = createLogoutNotifications({
    provider: () => ({ Client: { find } }) as never,
    logger,
  });
  const of = { accountId: 'usr_1', sid: 'sid', consentEpoch: 0 };
  for (const clientId of ['https://agent.example/client.json', 'app_1']) send({ ...of, clientId });
  await stop();
  t.strictSame(lookedUp, ['app_1']);
});

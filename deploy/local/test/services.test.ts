import { prefixesOf, SERVICE_NAMES } from '@gatehouse/core/services';
import { createLocalBroadcast } from '@gatehouse/events/local-broadcast';
import { createLocalEvents } from '@gatehouse/events/local-events';
import { logger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import { prepareDemo } from '../src/demo.ts';
import { prepareServices } from '../src/services.ts';
import { readLocalSettings } from '../src/settings.ts';
import { temporaryDir } from './gatehouse.ts';

t.test('npm start runs every service of the table, with the paths that it has there', async (t) => {
  const settings = readLocalSettings({ DATA_DIR: temporaryDir(t) });
  const { demo } = await prepareDemo(settings.dataDir, settings.publicUrl);
  // None of them is started: nothing listens at these addresses.
  const { create } = await prepareServices({
    settings,
    env: {},
    ownUrl: 'http://127.0.0.1:1',
    masterKeys: [Buffer.alloc(32)],
    demo,
    logger,
  });
  const services = create('mongodb://127.0.0.1:1', {
    broadcast: createLocalBroadcast(),
    events: createLocalEvents({ logger }),
  });
  t.same(
    Object.fromEntries(services.map(({ name, prefixes }) => [name, prefixes])),
    Object.fromEntries(SERVICE_NAMES.map((name) => [name, prefixesOf(name)])),
  );
  t.equal(services[0]?.name, 'identity', 'the others ask it for what they need');
});

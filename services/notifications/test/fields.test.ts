import { walkProfiles } from '@gatehouse/testing/walk-profiles';
import t from 'tap';
import { NOTIFICATION } from '../src/notifications/notification.ts';
import { NOTIFICATION_PATHS } from '../src/notifications/profiles/notification-resource.ts';
import { ANN, build, NOTIFICATIONS } from './build.ts';

// Nothing is sent: what is queued stays so.
const built = await build(t, { slots: 0, providers: { capture: { directory: t.testdir() } } });
const { call, machine: token } = built;

walkProfiles(t, {
  ...{ paths: NOTIFICATION_PATHS, call, token },
  ...{ stored: NOTIFICATION, internal: ['version'] },
  values: () => ({ user_id: ANN, type: 'email' }),
  async create() {
    const message = { user_id: ANN, type: 'email', message: 'Shipped.' };
    return (await call('POST', NOTIFICATIONS, token, message)).body.id;
  },
  read: async (id) => (await call('GET', `${NOTIFICATIONS}/${id}`, token)).body,
});

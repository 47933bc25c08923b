import { readFileSync } from 'node:fs';
import { VERSION } from '@gatehouse/core/version';
import { AUDIT_ACTIONS, type AuditAction } from '@gatehouse/domain/audit-actions';
import t from 'tap';
import { ocsfEvent } from '../../../src/features/audit-export/ocsf.ts';
import { entryOf } from './entries.ts';

const GUIDE = new URL('../../../../../docs/guides/audit-log.md', import.meta.url);
const ACTIONS = Object.keys(AUDIT_ACTIONS) as AuditAction[];

t.test('the guide lists the class and the activity of every action', async (t) => {
  const ofActivity = Map.groupBy(ACTIONS, (action) => Number(ocsfEvent(entryOf(action)).type_uid));
  const rows = [...ofActivity]
    .sort(([a], [b]) => a - b)
    .map(
      ([type, actions]) =>
        `| ${Math.floor(type / 100)} | ${type % 100} | ${actions.map((it) => `\`${it}\``).join(', ')} |`,
    );
  t.match(readFileSync(GUIDE, 'utf8'), `${rows.join('\n')}\n`);
});

t.test('an event has the actor, the user, the application, the address and the outcome', async (t) => {
  t.same(ocsfEvent(entryOf('sign_in.failed')), {
    category_uid: 3,
    class_uid: 3002,
    activity_id: 1,
    type_uid: 300201,
    status_id: 2,
    severity_id: 3,
    time: Date.parse('2026-11-02T09:30:00Z'),
    message: 'Sign-in failed',
    metadata: {
      version: '1.4.0',
      uid: 'aud_01m7g9w2k0000c4v8x3r6t5n1z',
      event_code: 'sign_in.failed',
      product: { name: 'Gatehouse', vendor_name: 'Gatehouse', version: VERSION },
    },
    user: { uid: 'usr_ann', type_id: 1 },
    service: { uid: 'app_web' },
    actor: { user: { uid: 'usr_admin', type_id: 1 }, app_uid: 'app_web' },
    src_endpoint: { ip: '192.0.2.1' },
    http_request: { uid: 'req_1', user_agent: 'Browser/1' },
    unmapped: { details: { fields: ['username'], nothing: null }, login_hash: 'hash' },
  });
  const { subject: _s, actor: _a, client: _c, origin: _o, ...bare } = entryOf('sign_in.failed');
  t.match(ocsfEvent(bare), { user: { name: 'unknown', type_id: 0 }, service: { name: 'Gatehouse' } });
  for (const field of ['actor', 'src_endpoint', 'http_request']) t.notOk(field in ocsfEvent(bare), field);
});

t.test('the status of an account is enabled and disabled', async (t) => {
  for (const [to, activity] of [
    ['active', 2],
    ['inactive', 5],
  ] as const) {
    const details = { change: 'status', from: 'pending', to };
    t.match(ocsfEvent({ ...entryOf('account.changed'), details }), {
      class_uid: 3001,
      activity_id: activity,
    });
  }
});

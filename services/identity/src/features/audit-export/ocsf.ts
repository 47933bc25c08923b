import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { VERSION } from '@gatehouse/core/version';
import { AUDIT_ACTIONS, type AuditAction } from '@gatehouse/domain/audit-actions';
import type { AuditRecord } from '../../core/audit/audit.ts';

/** The events are valid in this version of OCSF, and in later ones: https://schema.ocsf.io/1.4.0/categories/iam */
const OCSF_VERSION = '1.4.0';
const IDENTITY_AND_ACCESS_MANAGEMENT = 3;
const CLASSES = { accountChange: 3001, authentication: 3002, entityManagement: 3004 };
const OTHER = 99;

/** The classes of actions, by the object or by the whole action. All other actions are Entity Management. */
const CLASS_OF: Readonly<Record<string, number>> = {
  ...classOf(
    CLASSES.accountChange,
    'account password password_reset email change passkey authenticator_app recovery_codes identity set_up_link factor_recovery',
  ),
  ...classOf(
    CLASSES.authentication,
    'sign_in sign_out session device token refresh_token identity_assertion recovery_code account.impersonated',
  ),
};
/** The activity_id of actions on accounts and of authentication. */
const ACTIVITIES: Partial<Record<AuditAction, number>> = {
  ...{ 'account.created': 1, 'password.changed': 3, 'password_reset.sent': 4, 'account.deleted': 6 },
  ...{ 'passkey.added': 10, 'authenticator_app.added': 10, 'recovery_codes.renewed': 10 },
  ...{ 'passkey.removed': 11, 'authenticator_app.removed': 11, 'factor_recovery.finished': 11 },
  ...{ 'sign_in.succeeded': 1, 'sign_in.failed': 1, 'device.connected': 1 },
  ...{ sign_out: 2, 'session.ended': 2, 'token.revoked': 2 },
  ...{ 'token.exchanged': 4, 'identity_assertion.issued': 4, 'refresh_token.repeated': 5 },
  ...{ 'sign_in.challenged': 6, 'recovery_code.used': 6 },
};
/** The activity_id of entity management by the verb of the action. */
const VERBS: Readonly<Record<string, number>> = {
  ...{ created: 1, added: 1, granted: 1, offered: 1 },
  ...{ changed: 3, accepted: 3, rotated: 3 },
  ...{ deleted: 4, removed: 4, revoked: 4, purged: 4, cancelled: 4, declined: 4 },
  ...{ transferred: 5, paused: 12, resumed: 13 },
};
/** The activity_id of a change of the status of an account. */
const STATUS_CHANGES: Readonly<Record<string, number>> = { active: 2, inactive: 5 };
const FAILURES: readonly AuditAction[] = ['sign_in.failed', 'consent.refused', 'refresh_token.repeated'];
const STATUS = { success: 1, failure: 2 };
const SEVERITY = { informational: 1, medium: 3 };
const USER = { unknown: { name: 'unknown', type_id: 0 }, of: (uid: string) => ({ uid, type_id: 1 }) };

/** An entry of the audit log as an event of OCSF. `metadata.uid` is its id, by which receivers recognize a repetition. */
export function ocsfEvent(record: AuditRecord): Record<string, unknown> {
  const { id, action, at, actor, subject, client, origin, loginHash, details } = record;
  const [entity = '', verb = entity] = action.split('.');
  const classUid = CLASS_OF[action] ?? CLASS_OF[entity] ?? CLASSES.entityManagement;
  const activityId =
    (classUid === CLASSES.entityManagement ? VERBS[verb] : ACTIVITIES[action]) ??
    (details?.change === 'status' ? STATUS_CHANGES[String(details.to)] : undefined) ??
    OTHER;
  const user = subject === undefined ? USER.unknown : USER.of(subject);
  const about = {
    [CLASSES.authentication]: { user, service: client ? { uid: client } : { name: 'Gatehouse' } },
    [CLASSES.accountChange]: { user },
    [CLASSES.entityManagement]: {
      entity: omitUndefined({ name: entity, type: entity, uid: client, user: subject && USER.of(subject) }),
    },
  }[classUid];
  const outcome = FAILURES.includes(action)
    ? { status_id: STATUS.failure, severity_id: SEVERITY.medium }
    : { status_id: STATUS.success, severity_id: SEVERITY.informational };
  const by = omitUndefined({ user: actor && USER.of(actor), app_uid: client });
  return omitUndefined({
    category_uid: IDENTITY_AND_ACCESS_MANAGEMENT,
    class_uid: classUid,
    activity_id: activityId,
    activity_name: activityId === OTHER ? verb : undefined,
    type_uid: classUid * 100 + activityId,
    ...outcome,
    time: at.getTime(),
    message: AUDIT_ACTIONS[action],
    metadata: {
      version: OCSF_VERSION,
      uid: id,
      event_code: action,
      product: { name: 'Gatehouse', vendor_name: 'Gatehouse', version: VERSION },
    },
    ...about,
    actor: Object.keys(by).length > 0 ? by : undefined,
    src_endpoint: origin?.address ? { ip: origin.address } : undefined,
    http_request: origin && omitUndefined({ uid: origin.requestId, user_agent: origin.userAgent }),
    unmapped: details || loginHash ? omitUndefined({ details, login_hash: loginHash }) : undefined,
  });
}

function classOf(classUid: number, names: string): Record<string, number> {
  return Object.fromEntries(names.split(' ').map((name) => [name, classUid]));
}

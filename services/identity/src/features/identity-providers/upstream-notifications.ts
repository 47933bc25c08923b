import { hash } from 'node:crypto';
import type { IdentityProvider } from '../../core/foundation/identity-provider.ts';
import type { UpstreamClient } from './upstream-client.ts';
import { UpstreamError, type UpstreamLogout } from './upstream-identity.ts';

/** A request by a provider, which nobody here has asked for. */
export type Notification = {
  provider: Pick<IdentityProvider, 'clientId'>;
  client: Pick<UpstreamClient, 'verifyNotification'>;
  /** The URL of the request. */
  endpoint: string;
  /** Our own issuer. */
  issuer: string;
  authorization: string;
  body: string;
  /** Whether this is the first use of a name until then, over all replicas. */
  useOnce(name: string, until: Date): Promise<boolean>;
};

/** How old a token that is valid once may be, in seconds. */
const MAX_AGE_SECONDS = 600;
/** How far the clocks of a provider and of this machine may differ. */
const CLOCK_DIFFERENCE_SECONDS = 30;
const BACKCHANNEL_LOGOUT = 'http://schemas.openid.net/event/backchannel-logout';
const TYPES = 'https://schemas.openid.net/secevent';
/** The events after which somebody has to sign in at the provider again (CAEP 1.0, session revoked; RISC 1.0, account disabled and purged). */
const ENDING_EVENTS = [
  `${TYPES}/caep/event-type/session-revoked`,
  `${TYPES}/risc/event-type/account-disabled`,
  `${TYPES}/risc/event-type/account-purged`,
];

/** Reads a logout token (OpenID Connect Back-Channel Logout 1.0 §2.6). Throws an UpstreamError. */
export async function readLogoutToken(notification: Notification): Promise<UpstreamLogout> {
  const token = new URLSearchParams(notification.body).get('logout_token') ?? '';
  const { payload, protectedHeader } = await notification.client.verifyNotification(token, {
    ...{ maxTokenAge: MAX_AGE_SECONDS, requiredClaims: ['iss', 'iat', 'exp', 'jti'] },
  });
  const { iss: issuer = '', sub: subject, sid, events, nonce } = payload;
  const isLogout =
    // Recommended of providers, not required (§2.4); what is said has to be right.
    /^(?:(?:application\/)?logout\+)?jwt$/i.test(protectedHeader.typ ?? 'jwt') &&
    isObject(events) &&
    isObject(events[BACKCHANNEL_LOGOUT]) &&
    nonce === undefined &&
    [subject, sid].every((it) => it === undefined || typeof it === 'string') &&
    (subject ?? sid) !== undefined;
  if (!isLogout) throw refused('this is no logout token of the provider');
  await requireFirstUse(notification, token);
  return { issuer, subject, sid: sid as string | undefined };
}

/**
 * Reads a security event token (RFC 8417 §2.2) in a push (RFC 8935 §2.1). It may come late and several times, as it ends what began before
 * it. Undefined if it ends nothing. Throws an UpstreamError.
 */
export async function readSecurityEvent(notification: Notification): Promise<UpstreamLogout | undefined> {
  const { provider, client, endpoint, issuer, body } = notification;
  const { payload, protectedHeader } = await client.verifyNotification(body, {
    audience: [provider.clientId, endpoint, issuer],
    requiredClaims: ['iss', 'iat', 'jti', 'events'],
  });
  const { iss = '', iat, events, sub_id: id } = payload;
  const now = Date.now() / 1000;
  const isEvent =
    /^(?:application\/)?secevent\+jwt$/i.test(protectedHeader.typ ?? '') &&
    isObject(events) &&
    typeof iat === 'number' &&
    iat <= now + CLOCK_DIFFERENCE_SECONDS;
  if (!isEvent) throw refused('this is no security event token of the provider');
  const event = ENDING_EVENTS.map((type) => events[type]).find(isObject);
  const subject = readSubject(iss, id);
  if (event === undefined || subject === undefined) return undefined;
  const { event_timestamp: at } = event;
  const seconds = Math.min(typeof at === 'number' ? at : iat, now) + CLOCK_DIFFERENCE_SECONDS;
  return { ...subject, before: new Date(seconds * 1000) };
}

/**
 * Reads a request to end all that a subject has (draft-parecki-oauth-global-token-revocation-06 §3.2), with a token for this request, as Okta
 * sends it. Throws an UpstreamError.
 */
export async function readRevocationRequest(notification: Notification): Promise<UpstreamLogout | undefined> {
  const { client, endpoint, authorization, body } = notification;
  const [, token = ''] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
  const { payload, protectedHeader } = await client.verifyNotification(token, {
    ...{ audience: endpoint, maxTokenAge: MAX_AGE_SECONDS, requiredClaims: ['iss', 'iat', 'exp'] },
  });
  if (!/^(?:application\/)?global-token-revocation\+jwt$/i.test(protectedHeader.typ ?? ''))
    throw refused('this is no token for a global token revocation');
  await requireFirstUse(notification, token);
  const { sub_id: id, subject } = Object(parseJson(body)) as Record<string, unknown>;
  return readSubject(payload.iss ?? '', id ?? subject);
}

/**
 * The subject by its identifier, simple (RFC 9493 §3.2.3, §3.2.4) or complex (Shared Signals 1.0 §3.3). A token speaks for people of its own
 * issuer alone. Devices are not known here, so with one all sessions of the person end. Undefined for another format.
 */
function readSubject(issuer: string, identifier: unknown): Omit<UpstreamLogout, 'before'> | undefined {
  if (!isObject(identifier)) return undefined;
  const isComplex = identifier.format === 'complex';
  const { user, session } = isComplex ? identifier : { user: identifier, session: identifier };
  const [subject, sid] = [readPerson(issuer, user), readSession(session)];
  return subject === undefined && sid === undefined ? undefined : { issuer, subject, sid };
}

function readPerson(issuer: string, identifier: unknown): string | undefined {
  const { format, iss, sub } = Object(identifier) as Record<string, unknown>;
  return format === 'iss_sub' && iss === issuer && typeof sub === 'string' ? sub : undefined;
}

function readSession(identifier: unknown): string | undefined {
  const { format, id } = Object(identifier) as Record<string, unknown>;
  return format === 'opaque' && typeof id === 'string' ? id : undefined;
}

async function requireFirstUse({ useOnce }: Notification, token: string): Promise<void> {
  // Twice the age at which a token is refused: clocks differ.
  const until = new Date(Date.now() + 2 * MAX_AGE_SECONDS * 1000);
  const isFirst = await useOnce(`notification ${hash('sha256', token, 'base64url')}`, until);
  if (!isFirst) throw refused('the token was used before');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const refused = (message: string) => new UpstreamError('refused', message);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

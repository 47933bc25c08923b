import { createECDH } from 'node:crypto';
import { Agent, request as sendRequest } from 'node:https';
import { failureOf, failureWithoutAnswer } from './http-failure.ts';
import { type Message, type Provider, ProviderError } from './provider.ts';
import { isPrivateLiteral, lookupPublic, NOT_PUBLIC, NOT_PUBLIC_MESSAGE } from './public-address.ts';

/** A PushSubscription (https://www.w3.org/TR/push-api/#pushsubscription-interface). */
export type PushTarget = { endpoint: string; keys: { p256dh: string; auth: string } };

/** Voluntary application server identification (RFC 8292). */
export type VapidSettings = {
  /** The P-256 private key, in base64url. */
  privateKey: string;
  /** Where the operators of push services find us: mailto: or https:. */
  subject: string;
};

const NAME = 'The push service';
/** How long a push service keeps a message for a browser that is offline, in seconds. */
const TTL_SECONDS = 3 * 86_400;
/** What fits into one record of 4,096 bytes, with its header and tag (RFC 8291 §4). */
const MAX_PAYLOAD_BYTES = 3993;

/** The public key in base64url: the applicationServerKey with which browsers subscribe. */
export function vapidPublicKey(privateKey: string): string {
  const ecdh = createECDH('prime256v1');
  ecdh.setPrivateKey(Buffer.from(privateKey, 'base64url'));
  return ecdh.getPublicKey('base64url');
}

/**
 * Sends messages to browsers by Web Push (RFC 8030, encrypted by RFC 8291). The payload is `{id, message, truncated}` in
 * JSON. A push service replaces a message that it has not delivered by one with the same id.
 */
export function createPushProvider(options: {
  vapid: VapidSettings;
  /** Whether endpoints may be in private networks and on this machine. */
  toPrivateNetworks: boolean;
}): Provider<PushTarget> {
  const { privateKey, subject } = options.vapid;
  const vapidDetails = { subject, privateKey, publicKey: vapidPublicKey(privateKey) };
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 64,
    ...(options.toPrivateNetworks ? {} : { lookup: lookupPublic }),
  });

  return {
    async send(message, target, signal) {
      // It may have been registered while the setting allowed it.
      if (!options.toPrivateNetworks && isPrivateLiteral(new URL(target.endpoint).hostname)) {
        throw new ProviderError('gone', NOT_PUBLIC_MESSAGE);
      }
      const { default: webPush } = await import('web-push');
      let details: ReturnType<typeof webPush.generateRequestDetails>;
      try {
        details = webPush.generateRequestDetails(target, payloadOf(message), {
          vapidDetails,
          TTL: TTL_SECONDS,
          urgency: message.isUrgent ? 'high' : 'normal',
          topic: topicOf(message.id),
        });
      } catch (error) {
        throw new ProviderError('gone', 'The subscription’s keys cannot be used.', { cause: error });
      }
      const { status, retryAfter, location } = await post(target.endpoint, { ...details, agent, signal });
      if (status === 404 || status === 410) {
        throw new ProviderError('gone', `${NAME} does not know the subscription any more (${status}).`);
      }
      const failure = failureOf(NAME, status, retryAfter);
      if (failure !== undefined) throw failure;
      return { providerId: location };
    },
    // There is no push service but those of the subscriptions.
    async check() {},
    stop: () => agent.destroy(),
  };
}

/** A topic has at most 32 characters of base64url (RFC 8030 §5.4). */
function topicOf(id: string): string {
  return id.replace(/[^\w-]/g, '').slice(-32);
}

function payloadOf({ id, text }: Message): string {
  const whole = JSON.stringify({ id, message: text, truncated: false });
  if (Buffer.byteLength(whole) <= MAX_PAYLOAD_BYTES) return whole;
  const characters = [...text];
  const cutAt = (length: number) =>
    JSON.stringify({ id, message: `${characters.slice(0, length).join('')}…`, truncated: true });
  let [fits, tooLong] = [0, characters.length];
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >> 1;
    if (Buffer.byteLength(cutAt(middle)) <= MAX_PAYLOAD_BYTES) fits = middle;
    else tooLong = middle;
  }
  return cutAt(fits);
}

/** Posts to an endpoint and reads no more of the answer than its head. */
function post(
  endpoint: string,
  options: { headers: object; body: Buffer | null; agent: Agent; signal: AbortSignal },
): Promise<{ status: number; retryAfter: string | undefined; location: string | null }> {
  const { headers, body, agent, signal } = options;
  return new Promise((resolve, reject) => {
    const request = sendRequest(endpoint, {
      method: 'POST',
      headers: headers as Record<string, string>,
      agent,
      signal,
    });
    request.once('error', (error: NodeJS.ErrnoException) => {
      const isRefused = error.code === NOT_PUBLIC;
      reject(isRefused ? new ProviderError('gone', error.message) : failureWithoutAnswer(NAME, error));
    });
    request.once('response', (response) => {
      const { statusCode: status = 0, headers: received } = response;
      const location = received.location?.slice(0, 512) ?? null;
      resolve({ status, retryAfter: received['retry-after'], location });
      response.once('error', () => {});
      // A short answer is read, so that the connection can be used again.
      if (Number(received['content-length'] ?? Number.POSITIVE_INFINITY) <= 4096) response.resume();
      else response.destroy();
    });
    request.end(body);
  });
}

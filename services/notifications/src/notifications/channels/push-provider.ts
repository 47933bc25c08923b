import { createECDH } from 'node:crypto';
import { AddressRefusedError } from '@gatehouse/outbound/connect';
import { createOutbound, type OutboundInit } from '@gatehouse/outbound/outbound';
import { failureOf, failureWithoutResponse } from './http-failure.ts';
import { type Message, type Provider, ProviderError } from './provider.ts';

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
/** Each request has a shorter time of its own, by its signal. */
const TIMEOUT_MS = 30_000;
/** How long a push service keeps a message for a browser that is offline, in seconds. */
const TTL_SECONDS = 3 * 86_400;
/** The bytes that fit into one record of 4,096 bytes, with its header and tag (RFC 8291 §4). */
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
  const networks = options.toPrivateNetworks ? ['0.0.0.0/0', '::/0'] : [];
  const outbound = createOutbound({ to: 'public', networks, timeoutMs: TIMEOUT_MS });

  /** Reads no more of the response than its head. */
  async function post(endpoint: string, init: OutboundInit): Promise<Response> {
    try {
      const response = await outbound.fetch(endpoint, { ...init, method: 'POST' });
      await response.body?.cancel();
      return response;
    } catch (error) {
      if (!(error instanceof AddressRefusedError)) throw failureWithoutResponse(NAME, error);
      throw new ProviderError('gone', 'The push service is not on the public internet.', { cause: error });
    }
  }

  return {
    async send(message, target, signal) {
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
      const { status, headers } = await post(target.endpoint, {
        headers: details.headers as Record<string, string>,
        body: details.body,
        signal,
      });
      if (status === 404 || status === 410) {
        throw new ProviderError('gone', `${NAME} does not know the subscription any more (${status}).`);
      }
      const failure = failureOf(NAME, status, headers.get('retry-after'));
      if (failure !== undefined) throw failure;
      return { providerId: headers.get('location')?.slice(0, 512) ?? null };
    },
    // There is no push service but those of the subscriptions.
    async check() {},
    stop() {},
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

import { createOutbound, type OutboundInit } from '@gatehouse/outbound/outbound';
import { failureOf, failureWithoutResponse } from './http-failure.ts';
import { type Provider, ProviderError } from './provider.ts';

const NAME = 'The SMS gateway';
/** Each request has a shorter time of its own, by its signal. */
const TIMEOUT_MS = 30_000;
const MAX_BYTES = 65_536;

/**
 * Sends SMS by an HTTP gateway that takes messages as Twilio does
 * (https://www.twilio.com/docs/messaging/api/message-resource#create-a-message-resource): a form with To, From and Body,
 * Basic authentication, and 201 with the `sid` of the message. `url` is that of the messages, with the credentials.
 * The address is a phone number.
 */
export function createSmsProvider(options: { url: string; from: string }): Provider<string> {
  const { origin, pathname, search, username, password } = new URL(options.url);
  const url = `${origin}${pathname}${search}`;
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const outbound = createOutbound({ to: 'configured', timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES });
  const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;

  async function request(init: OutboundInit): Promise<Response> {
    try {
      return await outbound.fetch(url, { ...init, headers: { authorization, accept: 'application/json' } });
    } catch (error) {
      throw failureWithoutResponse(NAME, error);
    }
  }

  return {
    async send({ text }, phone, signal) {
      const body = new URLSearchParams({ To: toE164(phone), From: options.from, Body: text });
      const response = await request({ method: 'POST', body, signal });
      const failure = failureOf(NAME, response.status, response.headers.get('retry-after'));
      if (failure !== undefined) {
        await response.body?.cancel();
        throw failure;
      }
      return { providerId: await readSid(response) };
    },

    async check(signal) {
      // The list of messages: at Twilio one is enough to tell whether the credentials are right.
      const response = await request({ method: 'GET', signal });
      await response.body?.cancel();
      if (response.status === 401 || response.status === 403) {
        throw new ProviderError('unreachable', `${NAME} refuses our credentials (${response.status}).`);
      }
      if (response.status >= 500) throw new ProviderError('failing', `${NAME} fails (${response.status}).`);
    },

    stop() {},
  };
}

/** The message has been accepted: a response that cannot be read makes no difference. */
async function readSid(response: Response): Promise<string | null> {
  try {
    const { sid } = Object(await response.json()) as { sid?: unknown };
    return typeof sid === 'string' && /^[\w-]{1,64}$/.test(sid) ? sid : null;
  } catch {
    return null;
  }
}

/** The number in the form of E.164, in which alone it is unambiguous. */
function toE164(phone: string): string {
  const number = phone.replace(/[ ().-]/g, '');
  if (/^\+[1-9]\d{4,14}$/.test(number)) return number;
  throw new ProviderError(
    'rejected',
    'The recipient’s phone number does not begin with + and the code of a country.',
  );
}

import { createOutbound } from '@gatehouse/outbound/outbound';
import { LRUCache } from 'lru-cache';
import Provider, { errors } from 'oidc-provider';
import type { Application, PublicKey } from '../../core/applications/application.ts';
import { usablePublicKeys } from '../../core/applications/public-keys.ts';
import type { ProviderExtension } from '../../core/oidc/provider-options.ts';
import type { Ports, WithSettings } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import type { trustedIssuerSettings } from '../trusted-issuers/settings.ts';

const MAX_KEY_SET_BYTES = 64 * 1024;
const TIMEOUT_MS = 5000;
/** How long keys are used before they are fetched again: withdrawn ones must not be accepted for long. */
const FRESH_SECONDS = 60;
/** How long keys that could not be fetched are not asked for again: anybody can name a client. */
const FAILURE_MS = 30_000;
/** How many are fetched at the same time, and from one host. */
const MAX_FETCHES = 100;
const MAX_FETCHES_OF_HOST = 4;

/** The parts of oidc-provider's client that hold its keys, which its types do not have. */
type ClientWithKeys = {
  clientId: string;
  jwksUri?: string;
  asymmetricKeyStore: { stale(): boolean; clear(): void; add(key: object): void; freshUntil: number };
};

/** The public keys of clients that are fetched from a `jwks_uri` (RFC 7591 §2). */
export function clientKeys(
  core: Ports<'applications'> & WithSettings<typeof trustedIssuerSettings>,
): IdentityModule {
  const { trustedIssuerNetworks: networks = [] } = core.config;
  const bounds = { timeoutMs: TIMEOUT_MS, maxBytes: MAX_KEY_SET_BYTES };
  const outbound = createOutbound({ to: 'public', networks, ...bounds });
  const pending = new Map<string, Promise<PublicKey[]>>();
  const failed = new LRUCache<string, Error>({ max: 1000, ttl: FAILURE_MS });
  /** Until when the noted keys of an application are fresh. */
  const fresh = new LRUCache<string, number>({ max: 1000 });

  /** Redirects are not followed: a page of the same site could lead elsewhere. */
  async function fetchKeys(url: string): Promise<PublicKey[]> {
    const { status, body } = await outbound.read(url, { headers: { accept: 'application/json' } });
    if (status !== 200) throw new Error(`the response has the status ${status}`);
    return usablePublicKeys(JSON.parse(body.toString('utf8')));
  }

  async function fetchOnce(url: string): Promise<PublicKey[]> {
    const known = pending.get(url);
    if (known !== undefined) return known;
    const before = failed.get(url);
    if (before !== undefined) throw before;
    const { host } = new URL(url);
    const ofHost = [...pending.keys()].filter((it) => new URL(it).host === host);
    if (pending.size >= MAX_FETCHES || ofHost.length >= MAX_FETCHES_OF_HOST)
      throw new Error('too many keys are being fetched');
    const fetching = fetchKeys(url).finally(() => pending.delete(url));
    pending.set(url, fetching);
    return fetching.catch((error: Error) => {
      failed.set(url, error);
      throw error;
    });
  }

  /** Webhooks and streams that were made with a key end when it is no longer at the URL. */
  async function fetchAndNote(id: string, url: string): Promise<PublicKey[]> {
    fresh.set(id, Date.now() + FRESH_SECONDS * 1000);
    const keys = await fetchOnce(url);
    await core.applicationStore.noteKeys(id, url, keys);
    return keys;
  }

  const noteFailure = (error: unknown, url: string) =>
    core.logger.info({ err: error, url }, 'the public keys of a client could not be fetched');

  /** Notes withdrawn keys of an application that does not authenticate any more. Those that cannot be fetched stay noted. */
  function refreshNoted({ id, jwks: { uri } = { keys: [] } }: Pick<Application, 'id' | 'jwks'>): void {
    if (uri === undefined || (fresh.get(id) ?? 0) > Date.now()) return;
    void fetchAndNote(id, uri).catch((error: unknown) => noteFailure(error, uri));
  }

  /** Keeps the keys of a client up to date. oidc-provider would fetch them only when no known key fits, and so accept withdrawn ones. */
  async function refreshKeys(client: ClientWithKeys): Promise<void> {
    const { clientId, jwksUri: url, asymmetricKeyStore: store } = client;
    if (url === undefined || !store.stale()) return;
    try {
      const keys = await fetchAndNote(clientId, url);
      store.clear();
      for (const key of keys) store.add(key);
      store.freshUntil = Math.floor(Date.now() / 1000) + FRESH_SECONDS;
    } catch (error) {
      noteFailure(error, url);
      throw new errors.InvalidClientAuth('the keys at the jwks_uri of the client could not be fetched');
    }
  }

  const provider: ProviderExtension = {
    attach({ Client }) {
      const { find } = Client;
      Client.find = async function findWithKeys(id) {
        const client = await find.call(this, id);
        const { params, entities } = Provider.ctx?.oidc ?? {};
        const authenticates = params?.client_assertion !== undefined && entities?.Client === undefined;
        if (client !== undefined && authenticates) await refreshKeys(client as unknown as ClientWithKeys);
        return client;
      };
    },
  };
  return { extensions: { provider: [provider], publicKeyListeners: [refreshNoted] } };
}

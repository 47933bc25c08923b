import { type ServiceError, unavailable } from '@gatehouse/core/errors';
import { createOutbound } from '@gatehouse/outbound/outbound';
import { apiAudience, MANAGE_APPS } from '@gatehouse/tokens/scopes';
import type { Account } from '../../../core/accounts/account.ts';
import type { PersonalDataSection } from '../../../core/extensions.ts';
import { ACCOUNT_CLIENT } from '../../../core/oidc/clients/client-metadata.ts';
import type { TokenSigner } from '../../../core/tokens/token-signer.ts';

/** The lists of the public API in which other services hold what belongs to a person. */
const LISTS = [
  { name: 'items', service: 'items', path: '/api/v1/items', scope: 'read:data' },
  { name: 'orders', service: 'commerce', path: '/v2/orders', scope: 'read:data' },
  { name: 'notifications', service: 'notifications', path: '/v2/notifications', scope: 'read:data' },
  {
    name: 'push_subscriptions',
    service: 'notifications',
    path: '/api/v1/push-subscriptions',
    scope: 'read:data',
  },
  { name: 'webhooks', service: 'notifications', path: '/api/v1/webhooks', scope: `read:data ${MANAGE_APPS}` },
] as const;

/** The lifetime of a token, in seconds. Each page gets one of its own. */
const TOKEN_SECONDS = 60;
const TIMEOUT_MS = 30_000;
/** A page of what people can store is within this by far. */
const MAX_BYTES = 32 * 1024 * 1024;

/**
 * The data that other services hold about a person, as they show it to them. Also of an editor or admin it is read with the role of a
 * user, which sees nothing of others. The rows throw `unavailable` where a service does not answer.
 */
export function serviceLists(options: {
  issuer: string;
  /** Where the services are reached from here; those without a URL are left out. */
  urls: Readonly<Partial<Record<(typeof LISTS)[number]['service'], string>>>;
  signer: () => TokenSigner;
}): PersonalDataSection[] {
  const { issuer, urls } = options;
  const outbound = createOutbound({ to: 'services', timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES });

  /** In the spirit of RFC 8693 §4.1: `act` says that it is not the person who reads. */
  async function tokenFor({ id, epoch }: Account, scope: string): Promise<string> {
    const { token } = await options.signer()({
      subject: id,
      clientId: ACCOUNT_CLIENT,
      audience: apiAudience(issuer),
      scope,
      lifetime: TOKEN_SECONDS,
      claims: { act: { sub: 'identity' }, roles: ['user'], epoch: { client: 0, subject: epoch } },
    });
    return token;
  }

  /** A page of a list with its path after it; the lists that are short come as arrays. */
  async function pageAt(url: string, account: Account, scope: string) {
    const headers = { authorization: `Bearer ${await tokenFor(account, scope)}` };
    const { status, body } = await outbound.read(url, { headers }).catch((error: unknown) => {
      throw away(error);
    });
    if (status !== 200) throw away(new Error(`${new URL(url).pathname} answered ${status}`));
    const page = parseExactly(body.toString()) as unknown[] | { data: unknown[]; links: { next?: string } };
    return Array.isArray(page) ? { rows: page, next: undefined } : { rows: page.data, next: page.links.next };
  }

  return LISTS.flatMap(({ name, service, path, scope }) => {
    const base = urls[service];
    if (base === undefined) return [];
    async function* rows(account: Account) {
      for (let next: string | undefined = `${path}?cursor=&limit=100`; next !== undefined; ) {
        const page = await pageAt(base + next, account, scope);
        yield* page.rows;
        next = page.next;
      }
    }
    return [{ name, rows }];
  });
}

const away = (cause: unknown): ServiceError =>
  unavailable('Some of your data cannot be read at the moment.', cause as Error);

/** Reads JSON in which numbers keep all their digits when they are written again, as those of items do. */
export function parseExactly(text: string): unknown {
  // ECMA-262 JSON.rawJSON and the source of primitive values, which the types do not have yet.
  const { rawJSON } = JSON as unknown as { rawJSON(source: string): unknown };
  const exactly = (_name: string, value: unknown, context?: { source: string }) =>
    typeof value === 'number' && context !== undefined && String(value) !== context.source
      ? rawJSON(context.source)
      : value;
  return JSON.parse(text, exactly);
}

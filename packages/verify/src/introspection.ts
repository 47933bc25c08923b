import { hash } from 'node:crypto';
import { type Fetch, fetchJson } from './requests.ts';

/** The response for a token or an API key (RFC 7662 §2.2). Rejects when there is none. */
export type Introspect = (token: string) => Promise<Record<string, unknown>>;

/** Requests for the same token at the same time share the response. */
export function createIntrospection(options: {
  url: () => Promise<string>;
  authorization: string;
  fetch: Fetch;
}): Introspect {
  const pending = new Map<string, ReturnType<Introspect>>();

  async function request(token: string): Promise<Record<string, unknown>> {
    return fetchJson(options.fetch, await options.url(), {
      method: 'POST',
      headers: { authorization: options.authorization, accept: 'application/json' },
      body: new URLSearchParams({ token }),
    });
  }

  return (token) => {
    const key = hash('sha256', token, 'base64');
    const shared = pending.get(key) ?? request(token).finally(() => pending.delete(key));
    pending.set(key, shared);
    return shared;
  };
}

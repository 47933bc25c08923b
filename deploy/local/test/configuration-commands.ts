import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ApiClient, createApiClient } from '@gatehouse/cli/api-client';
import { apply, plan, printExport, type Surroundings } from '@gatehouse/cli/configuration/commands';
import { jsonRequest, loginToken } from '@gatehouse/testing/json-request';
import type { Gatehouse } from './gatehouse.ts';

export const LEASE = '/api/v1/configuration/lease';

/** The commands with files in a folder, as the admin of a deployment. `limit` cuts the connection after so many requests, as if the process were killed. */
export async function commandsFor(
  folder: string,
  { base, demo }: Pick<Gatehouse, 'base' | 'demo'>,
  login = demo.admin,
) {
  const token = await loginToken(base, login);
  const client = createApiClient({ url: base, token: async () => token, userAgent: 'test' });
  const env: Record<string, string | undefined> = { ACME_CLIENT_SECRET: 'one' };
  async function run(
    command: (surroundings: Surroundings) => Promise<number>,
    { limit = Number.POSITIVE_INFINITY, ask }: { limit?: number; ask?: () => Promise<string> } = {},
  ) {
    let requests = 0;
    let output = '';
    const cut: ApiClient = {
      ...client,
      async request(...args) {
        if (++requests > limit) throw new Error('killed');
        const response = await client.request(...args);
        // The response of the last request does not arrive.
        if (requests === limit) throw new Error('killed');
        return response;
      },
    };
    const print = (text: string) => {
      output += text;
    };
    try {
      const status = await command({ connect: async () => cut, env, print, note: print, ask });
      return { status, output, requests };
    } catch (error) {
      return { status: 1, output: (error as Error).message, requests };
    }
  }
  const write = (configuration: object | string, name = 'gatehouse.yaml') => {
    const path = join(folder, name);
    writeFileSync(path, typeof configuration === 'string' ? configuration : JSON.stringify(configuration));
    return path;
  };
  const options = (more: object = {}) => ({ yes: true, json: true, ...more });
  return {
    env,
    write,
    call: (method: string, path: string, body?: unknown, headers = {}) =>
      jsonRequest<Record<string, unknown> & { data: Record<string, unknown>[] }>(method, base + path, {
        token,
        body,
        headers,
      }),
    export: async () => JSON.parse((await run((it) => printExport(it, { json: true }))).output),
    plan: (file: object | string, more = {}) => run((it) => plan(it, write(file), { json: true, ...more })),
    apply: (file: object | string, more = {}, how: Parameters<typeof run>[1] = {}) =>
      run((it) => apply(it, write(file), options(more)), how),
    /** Ends the lease of an apply that was killed, as its expiry does. */
    async endLease() {
      const { body } = await jsonRequest('GET', base + LEASE, { token });
      if (body.id !== undefined) await jsonRequest('DELETE', `${base}${LEASE}/${body.id}`, { token });
    },
  };
}

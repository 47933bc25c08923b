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
    command: (surroundings: Surroundings) => Promise<unknown>,
    { limit = Number.POSITIVE_INFINITY, confirm }: { limit?: number; confirm?: () => Promise<void> } = {},
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
    const add = (text: string) => {
      output += text;
    };
    const surroundings = {
      ...{ connect: async () => cut, env, confirm },
      output: { json: true, note: add, result: (value: unknown) => add(JSON.stringify(value)) },
    };
    try {
      const status = Number((await command(surroundings)) ?? 0);
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
  return {
    env,
    write,
    call: (method: string, path: string, body?: unknown, headers = {}) =>
      jsonRequest<Record<string, unknown> & { data: Record<string, unknown>[] }>(method, base + path, {
        token,
        body,
        headers,
      }),
    export: async () => JSON.parse((await run((it) => printExport(it))).output),
    plan: (file: object | string, more = {}) => run((it) => plan(it, write(file), more)),
    apply: (file: object | string, more = {}, how: Parameters<typeof run>[1] = {}) =>
      run((it) => apply(it, write(file), { yes: true, ...more }), how),
    /** Ends the lease of an apply that was killed, as its expiry does. */
    async endLease() {
      const { body } = await jsonRequest('GET', base + LEASE, { token });
      if (body.id !== undefined) await jsonRequest('DELETE', `${base}${LEASE}/${body.id}`, { token });
    },
  };
}

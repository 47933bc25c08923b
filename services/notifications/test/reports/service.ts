import { createCommerceService } from '@gatehouse/commerce';
import { until } from '@gatehouse/testing/processes';
import { startTestService } from '@gatehouse/testing/test-service';
import { createUsersService } from '@gatehouse/users';
import type { Report } from '../../src/reports/report.ts';
import { createNotificationsService } from '../../src/service.ts';

export type ReportBody = {
  id: string;
  type: Report['type'];
  status: Report['status'];
  progress: number;
  rows: number;
  bytes: number;
  error: string | null;
  download_url: string;
};

/** All that can be answered, in one: each test knows which of it is there, and asserts it. */
export type Body = ReportBody & {
  data: ReportBody[];
  meta: { total: number };
  links: { next?: string };
  handle: string;
  error: { code: string; message: string; details?: { field: string; message: string }[] } | string | null;
};

export const ADMIN = 'usr_06f2k1c8w0h3v5n7q9t1x3z5b7';
export const ALL = 'read:data write:data read:users read:all';

/** The notifications service beside those that reports are made from. */
export async function build(t: { teardown(fn: () => unknown): void }) {
  const built = await startTestService<Body>(t, 'notifications', (config, logger, dependencies) => [
    createUsersService(
      {
        ...config,
        hashConcurrency: 1,
        hashMemoryKiB: 64,
        firstUsers: [{ id: ADMIN, username: 'admin', password: 'correct horse battery', role: 'admin' }],
      },
      logger,
      dependencies,
    ),
    createCommerceService({ ...config, usersUrl: config.ownUrl }, logger, dependencies),
    createNotificationsService(
      {
        ...config,
        usersUrl: config.ownUrl,
        commerceUrl: config.ownUrl,
        notificationsUrl: config.ownUrl,
        sending: { providers: {}, slots: 0 },
      },
      logger,
      dependencies,
    ),
  ]);
  const { base, call, issuer } = built;
  const token = await issuer.person(ADMIN, 'admin', ALL);

  /** The report, once it has ended. */
  async function ended(id: string, by = token): Promise<ReportBody> {
    let report: ReportBody | undefined;
    await until(async () => {
      const { body } = await call('GET', `/v2/reports/${id}`, by);
      report = body;
      return !['queued', 'running'].includes(body.status);
    }, 30_000);
    return report as ReportBody;
  }

  async function generate(body: object, by = token): Promise<ReportBody> {
    const response = await call('POST', '/v2/reports/generate', by, body);
    if (response.status !== 202) throw new Error(response.text);
    return ended(response.body.id, by);
  }

  const download = (id: string, headers: Record<string, string> = {}, by = token) =>
    fetch(`${base}/v2/reports/${id}/download`, { headers: { authorization: `Bearer ${by}`, ...headers } });

  /** A request to one of the other services. */
  async function elsewhere(method: string, path: string, body: object): Promise<{ id: string }> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(base + path, { method, headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${method} ${path} ${response.status}: ${await response.text()}`);
    return (await response.json()) as { id: string };
  }

  return { ...built, elsewhere, token, generate, ended, download };
}

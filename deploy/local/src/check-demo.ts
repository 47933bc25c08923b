import { createOutbound } from '@gatehouse/outbound/outbound';
import type { Demo } from './demo.ts';
import { StartError } from './start-error.ts';

/** Marks these requests in the log. */
const SELF_CHECK = { 'x-request-id': 'self-check' };
const outbound = createOutbound({ to: 'configured', timeoutMs: 60_000 });

/**
 * Requests a token and the list of users as a client would. So the commands in the banner are known to work, and demo.json
 * to belong to the database.
 */
export async function checkDemo(base: string, { machine }: Demo, dataDir: string): Promise<void> {
  const response = await outbound.fetch(`${base}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...SELF_CHECK },
    body: JSON.stringify({ grant_type: 'client_credentials', ...machine }),
  });
  const { access_token: token } = (await response.json()) as { access_token?: string };
  if (response.status === 401) {
    throw new StartError(
      `demo.json in ${dataDir} is not the one that the database was made with: they belong together. ` +
        'Put the right one back, use another database, or start over with npm run reset.',
    );
  }
  const list = await outbound.fetch(`${base}/v1/users?limit=1`, {
    headers: { ...SELF_CHECK, authorization: `Bearer ${token}` },
  });
  await list.body?.cancel();
  if (response.ok && list.ok) return;
  throw new StartError(
    `The self-check failed: the token endpoint answered ${response.status}, users ${list.status}.`,
  );
}

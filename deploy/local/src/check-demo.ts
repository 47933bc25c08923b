import type { Demo } from './demo.ts';
import { StartFailure } from './failure.ts';

/**
 * Asks the running interface, as any client would, for a token and the admin's record. So what is printed as
 * ready has worked once, and demo.json is known to belong to the database.
 */
export async function checkDemo(base: string, { machine, admin }: Demo, dataDir: string): Promise<void> {
  const answer = await fetch(`${base}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ grant_type: 'client_credentials', ...machine }),
  });
  const { access_token: token } = (await answer.json()) as { access_token?: string };
  const record = await fetch(`${base}/v1/users/${admin.user_id}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  await record.body?.cancel();
  if (answer.ok && record.ok) return;
  if (answer.status === 401 || record.status === 404) {
    throw new StartFailure(
      `The database holds other accounts than demo.json in ${dataDir}: they belong together. ` +
        'Put the right demo.json back, use another database, or begin anew with npm run reset.',
    );
  }
  throw new StartFailure(
    `The self-check failed: the token endpoint answered ${answer.status}, users ${record.status}.`,
  );
}

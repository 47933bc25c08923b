import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { newId } from '@gatehouse/kit/ids';
import { DEMO_FILE, readIfThere, refuseWithData, writePrivateFile } from './data-dir.ts';
import { StartFailure } from './failure.ts';

/** Someone to sign in as. */
type DemoAccount = { username: string; password: string; user_id: string };

/** What demo.json holds: credentials to try the interface with. */
export type Demo = {
  base_url: string;
  admin: DemoAccount;
  user: DemoAccount;
  machine: { client_id: string; client_secret: string; scope: string };
};

const MACHINE_SCOPE = 'read:users write:users read:data write:data read:all';

/**
 * The demo credentials: those of an earlier start, or new ones. They are on disk before anything is made with
 * them, so that a crash in between leaves no account that nobody has the password of.
 */
export async function prepareDemo(dataDir: string, baseUrl: string): Promise<Demo> {
  const file = demoFile(dataDir);
  const existing = await readIfThere(file);
  if (existing === undefined) refuseWithData(dataDir, file);
  const demo = existing === undefined ? newDemo(baseUrl) : { ...parse(existing, file), base_url: baseUrl };
  const text = `${JSON.stringify(demo, null, 2)}\n`;
  if (text !== existing) await writePrivateFile(file, text);
  return demo;
}

export function demoFile(dataDir: string): string {
  return join(dataDir, DEMO_FILE);
}

function newDemo(baseUrl: string): Demo {
  const account = (username: string): DemoAccount => ({
    username,
    password: randomBytes(12).toString('base64url'),
    user_id: newId('usr'),
  });
  return {
    base_url: baseUrl,
    admin: account('admin'),
    user: account('demo'),
    machine: {
      client_id: newId('app'),
      client_secret: randomBytes(32).toString('base64url'),
      scope: MACHINE_SCOPE,
    },
  };
}

function parse(text: string, file: string): Demo {
  try {
    const demo = JSON.parse(text) as Demo;
    const { admin, user, machine } = demo;
    const fields = [
      ...[admin.username, admin.password, admin.user_id, user.username, user.password, user.user_id],
      ...[machine.client_id, machine.client_secret, machine.scope],
    ];
    if (fields.every((field) => typeof field === 'string' && field !== '')) return demo;
  } catch {
    // Said below: whether it is no JSON or lacks something, the remedy is the same.
  }
  throw new StartFailure(`${file} is damaged: put it back as it was, or begin anew with npm run reset.`);
}

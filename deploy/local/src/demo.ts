import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { newId } from '@gatehouse/kit/ids';
import { newApiKey } from '@gatehouse/tokens/api-key';
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
  web: { client_id: string; client_secret: string; redirect_uri: string };
  spa: { client_id: string; redirect_uri: string };
  /** Any port will do for a native application (RFC 8252 §7.3). */
  native: { client_id: string; redirect_uri: string };
  /** Of the machine. */
  api_key: string;
};

const MACHINE_SCOPE = 'read:users write:users read:data write:data read:all';
export const API_KEY_SCOPES = ['read:users', 'read:data'];
/** What the demo's web, spa and native may ask for. */
export const CLIENT_SCOPES = [
  'openid',
  'profile',
  'email',
  'read:profile',
  'read:users',
  'write:users',
  'read:data',
  'write:data',
];
const REDIRECT_URI = 'http://127.0.0.1:49152/callback';

/**
 * The demo credentials: those of an earlier start, or new ones. New ones are on disk when this resolves, before
 * anything is created with them: a crash in between must not leave an account whose password is lost. An existing
 * file is updated only by `save`, once the data directory is known not to be in use by another process.
 */
export async function prepareDemo(
  dataDir: string,
  baseUrl: string,
): Promise<{ demo: Demo; save(): Promise<void> }> {
  const file = demoFile(dataDir);
  const existing = await readIfThere(file);
  if (existing === undefined) refuseWithData(dataDir, file);
  // A file of an earlier version lacks what has been added since.
  const demo = {
    ...newDemo(baseUrl),
    ...(existing === undefined ? {} : parse(existing, file)),
    base_url: baseUrl,
  };
  const text = `${JSON.stringify(demo, null, 2)}\n`;
  if (existing === undefined) await writePrivateFile(file, text);
  return {
    demo,
    async save() {
      if (existing !== undefined && text !== existing) await writePrivateFile(file, text);
    },
  };
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
  const secret = () => randomBytes(32).toString('base64url');
  return {
    base_url: baseUrl,
    admin: account('admin'),
    user: account('demo'),
    machine: { client_id: newId('app'), client_secret: secret(), scope: MACHINE_SCOPE },
    web: { client_id: newId('app'), client_secret: secret(), redirect_uri: REDIRECT_URI },
    spa: { client_id: newId('app'), redirect_uri: REDIRECT_URI },
    native: { client_id: newId('app'), redirect_uri: REDIRECT_URI },
    api_key: newApiKey().key,
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

import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '@gatehouse/core/ids';
import { newApiKey } from '@gatehouse/tokens/api-key';
import {
  DEMO_FILE,
  PENDING_DEMO_FILE,
  readIfThere,
  requireNoDatabase,
  writePrivateFile,
} from './data-dir.ts';
import { StartError } from './start-error.ts';

/** An account to sign in with. */
type DemoAccount = { username: string; password: string; user_id: string };

/** The content of demo.json: credentials to try the interface with. */
export type Demo = {
  base_url: string;
  admin: DemoAccount;
  user: DemoAccount;
  machine: { client_id: string; client_secret: string; scope: string };
  web: { client_id: string; client_secret: string; redirect_uri: string };
  spa: { client_id: string; redirect_uri: string };
  /** A native application may use any port (RFC 8252 §7.3). */
  native: { client_id: string; redirect_uri: string };
  /** The API key of the machine application. */
  api_key: string;
};

const MACHINE_SCOPE = 'read:users write:users read:data write:data read:all';
export const API_KEY_SCOPES = ['read:users', 'read:data'];
/** The scopes of the demo's web, spa and native applications. */
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
 * The demo credentials of an earlier start, or new ones. New ones are on disk when this resolves, so that a crash cannot
 * lose the password of an account, but not in demo.json: only `save` writes that, to be called when they work.
 */
export async function prepareDemo(
  dataDir: string,
  baseUrl: string,
): Promise<{ demo: Demo; save(): Promise<void> }> {
  const file = demoFile(dataDir);
  const pending = join(dataDir, PENDING_DEMO_FILE);
  const saved = await readIfThere(file);
  const existing = saved ?? (await readIfThere(pending));
  if (existing === undefined) requireNoDatabase(dataDir, file);
  const demo = existing === undefined ? newDemo(baseUrl) : { ...parse(existing, file), base_url: baseUrl };
  const text = `${JSON.stringify(demo, null, 2)}\n`;
  if (existing === undefined) await writePrivateFile(pending, text);
  return {
    demo,
    async save() {
      if (text !== saved) await writePrivateFile(file, text);
      await rm(pending, { force: true });
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
    // Invalid JSON is reported below, like missing fields.
  }
  throw new StartError(`${file} is damaged: put it back as it was, or start over with npm run reset.`);
}

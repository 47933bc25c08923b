import { execFile } from 'node:child_process';
import { copyFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { jsonRequest, loginToken } from '@gatehouse/testing/json-request';
import { decodeJwt, exportJWK, generateKeyPair } from 'jose';
import * as client from 'openid-client';
import t from 'tap';
import { temporaryDir } from '../gatehouse.ts';
import { signInAndAllow, startServer, untilDead } from './set-up.ts';

t.setTimeout(300_000);
const run = promisify(execFile);
const PROJECT = join(import.meta.dirname, 'spring');
const NOTES = 'https://notes.example.com/api';
const MAIL = 'https://mail.example.com/api';

/** The class path of the program; or the reason why it cannot be had on this machine. */
async function install(): Promise<{ classPath: string } | { reason: string }> {
  const cwd = temporaryDir(t);
  const libraries = join(cwd, 'lib', '*');
  try {
    await run('javac', ['--version']);
    await copyFile(join(PROJECT, 'pom.xml'), join(cwd, 'pom.xml'));
    await run('mvn', ['-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=lib'], { cwd });
  } catch (error) {
    return { reason: `needs Java 17, Maven and its packages: ${String(error).split('\n')[0]}` };
  }
  await run('javac', ['-d', cwd, '-cp', libraries, join(PROJECT, 'TokenExchange.java')]);
  return { classPath: [cwd, libraries].join(delimiter) };
}

const installed = await install();
const [classPath, skip] = 'reason' in installed ? ['', installed.reason] : [installed.classPath, false];

t.test('an API with Spring Security calls another one for a person', { skip }, async (t) => {
  const server = await startServer(t);
  const { demo, issuer } = server;
  const admin = await loginToken(issuer, demo.admin);
  for (const [identifier, scopes] of [
    [NOTES, ['notes:read']],
    [MAIL, ['mail:read', 'mail:send']],
  ] as const) {
    const made = await jsonRequest('POST', `${issuer}/api/v1/resources`, {
      token: admin,
      body: { identifier, name: identifier, scopes: scopes.map((name) => ({ name, description: name })) },
    });
    t.equal(made.status, 201);
  }
  const agent = {
    ...{ name: 'Agent', type: 'machine', scopes: ['read:users'] },
    token_exchange: [
      { resource: NOTES, scopes: [] },
      { resource: MAIL, scopes: ['mail:read'] },
      { resource: `${issuer}/api`, scopes: ['read:users'] },
    ],
  };
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  const key = { kid: '1', alg: 'RS256' };
  const withSecret = await server.createApplication(agent);
  const withKey = await server.createApplication({
    ...agent,
    jwks: { keys: [{ ...(await exportJWK(publicKey)), ...key }] },
  });

  const { web } = demo;
  const settings = { execute: [client.allowInsecureRequests] };
  const config = await client.discovery(
    new URL(issuer),
    web.client_id,
    web.client_secret,
    undefined,
    settings,
  );
  /** A token of the demo's person, for the API of the agent. */
  async function signIn(): Promise<string> {
    const verifier = client.randomPKCECodeVerifier();
    const url = client.buildAuthorizationUrl(config, {
      ...{ redirect_uri: web.redirect_uri, scope: 'openid notes:read', resource: NOTES },
      ...{
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      },
    });
    const callback = await signInAndAllow(server.browser(), url, demo.user);
    return (await client.authorizationCodeGrant(config, callback, { pkceCodeVerifier: verifier }))
      .access_token;
  }
  const subjectToken = await signIn();

  /** The lines of the program, by their first word. */
  async function exchange(application: object, more: Record<string, string> = {}) {
    const { stdout } = await run('java', ['-cp', classPath, 'TokenExchange'], {
      env: {
        ...process.env,
        ...{ ISSUER: issuer, OWN_API: NOTES, TARGET_API: MAIL, SCOPE: 'mail:read' },
        ...{ SENDER: web.client_id, SUBJECT_TOKEN: subjectToken, ...application, ...more },
      },
    });
    return Object.fromEntries([...stdout.matchAll(/^(\w+) (.+)$/gm)].map(([, word, text]) => [word, text]));
  }
  const bySecret = { CLIENT_ID: withSecret.client_id, CLIENT_SECRET: withSecret.client_secret };
  const byKey = {
    CLIENT_ID: withKey.client_id,
    CLIENT_KEY: JSON.stringify({ ...(await exportJWK(privateKey)), ...key }),
  };
  const acting = (id: string) => ({ sub: demo.user.user_id, aud: MAIL, client_id: id, act: { sub: id } });

  const first = await exchange(bySecret);
  t.equal(first.scope, 'mail:read');
  t.match(decodeJwt(String(first.token)), acting(withSecret.client_id));
  const second = await exchange(byKey);
  t.match(decodeJwt(String(second.token)), acting(withKey.client_id), 'private_key_jwt');
  t.match(await exchange(bySecret, { SCOPE: 'mail:send' }), { error: 'invalid_scope' });
  t.match(await exchange(bySecret, { TARGET_API: 'https://unknown.example.com' }), {
    error: 'invalid_target',
  });

  const here = await exchange(bySecret, { TARGET_API: `${issuer}/api`, SCOPE: 'read:users' });
  const token = String(here.token);
  const own = `/v1/users/${demo.user.user_id}`;
  t.equal(await server.statusOf(own, { token }), 200);
  await client.tokenRevocation(config, subjectToken);
  await untilDead(server, own, token);
  t.match(await exchange(bySecret), { error: 'invalid_grant' });
});

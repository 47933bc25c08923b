import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { jsonRequest, loginToken } from '@gatehouse/testing/json-request';
import t from 'tap';
import { temporaryDir } from '../gatehouse.ts';
import { startServer, untilDead } from './set-up.ts';

t.setTimeout(300_000);
const DOMAIN = 'spiffe://example.org';
const WORKER = '/ns/x/sa/y';
const USERS = '/v1/users?limit=1';

/** The program; or the reason why it cannot be built on this machine. */
async function build(): Promise<{ program: string } | { reason: string }> {
  const cwd = join(import.meta.dirname, 'spiffe');
  const program = join(temporaryDir(t), 'workload');
  const go = (...args: string[]) => promisify(execFile)('go', args, { cwd });
  try {
    await go('mod', 'download');
  } catch (error) {
    return { reason: `needs Go and its modules: ${String(error).split('\n')[0]}` };
  }
  await go('build', '-o', program, '.');
  return { program };
}

const built = await build();
const [program, skip] = 'reason' in built ? ['', built.reason] : [built.program, false];

t.test('a workload authenticates with a JWT-SVID of go-spiffe', { skip }, async (t) => {
  const server = await startServer(t);
  const { issuer } = server;
  const admin = await loginToken(issuer, server.demo.admin);
  const call = (method: string, path: string, body?: object) =>
    jsonRequest<Record<string, unknown>>(method, issuer + path, { token: admin, ...(body && { body }) });

  const child = spawn(program, [DOMAIN.replace('spiffe://', ''), join(temporaryDir(t), 'agent.sock')], {
    env: { ...process.env, TOKEN_URL: `${issuer}/oauth2/token` },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill());
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const bundle = String((await lines.next()).value);
  /** A JWT-SVID, and the access token or error that the workload gets for it. */
  async function request(path: string, audience = issuer, type = 'jwt-spiffe', id = client_id) {
    child.stdin.write(`${id} ${path} ${audience} ${type}\n`);
    const [svid = '', result = ''] = String((await lines.next()).value).split(' ');
    return { svid, result };
  }

  const trust = { issuer: DOMAIN, kinds: ['workload'], preset: 'spiffe' };
  t.match(await call('POST', '/api/v1/trusted-issuers', trust), { status: 400 }, 'without keys');
  for (const wrong of [`${DOMAIN}/path`, `${DOMAIN}:443`, 'spiffe://', 'spiffe://Example.org'])
    t.match(
      await call('POST', '/api/v1/trusted-issuers', { ...trust, issuer: wrong, jwks_uri: bundle }),
      { status: 400 },
      wrong,
    );
  const trusted = await call('POST', '/api/v1/trusted-issuers', { ...trust, jwks_uri: bundle });
  t.match(trusted, { status: 201, body: { issuer: DOMAIN, reuses_tokens: true } });
  const { client_id } = await server.createApplication({
    ...{ name: 'Worker', type: 'machine', scopes: ['read:users'] },
  });
  const rules = `/api/v1/applications/${client_id}/federated-credentials`;
  const rule = { name: 'y', issuer: DOMAIN, subject: DOMAIN + WORKER };
  t.match(await call('POST', rules, rule), { status: 201 });

  const first = await request(WORKER);
  t.equal(await server.statusOf(USERS, { token: first.result }), 200);
  t.not((await request(WORKER)).result, 'invalid_client', 'agents cache them');
  for (const [name, ...wrong] of [
    ['another workload', '/ns/x/sa/z'],
    ['a longer path', `${WORKER}/z`],
    ['the audience of somebody else', WORKER, 'https://other.example'],
    ['another application', WORKER, issuer, 'jwt-spiffe', server.demo.machine.client_id],
  ] as [string, ...Parameters<typeof request>][])
    t.equal((await request(...wrong)).result, 'invalid_client', name);
  t.not(
    (await request(WORKER, issuer, 'jwt-bearer')).result.split('.').length,
    3,
    'RFC 7523 §3 wants an iss',
  );

  const explained = await call('POST', `${rules}/explain`, { token: first.svid });
  t.match(explained.body, { token: { valid: true }, rules: [{ name: 'y', matches: true }] });
  const other = await request('/ns/x/sa/z');
  t.match((await call('POST', `${rules}/explain`, { token: other.svid })).body, {
    ...{ token: { valid: true }, rules: [{ matches: false, claim: 'sub' }] },
  });

  // The same bundle, pasted.
  const path = `/api/v1/trusted-issuers/${trusted.body.id}`;
  const jwks = (await (await fetch(bundle)).json()) as { keys: object[] };
  t.match(jwks.keys, [{ use: 'x509-svid' }, { use: 'jwt-svid' }]);
  t.match(await call('PATCH', path, { jwks }), { status: 200, body: { jwks: { keys: [{ use: 'sig' }] } } });
  await untilDead(server, USERS, first.result);
  const { result: token } = await request(WORKER);
  t.equal(await server.statusOf(USERS, { token }), 200);
  t.match(await call('PATCH', path, { enabled: false }), { status: 200 });
  await untilDead(server, USERS, token);
  t.equal((await request(WORKER)).result, 'invalid_client');

  const { body } = await call('GET', '/.well-known/oauth-authorization-server');
  t.ok((body.token_endpoint_auth_methods_supported as string[]).includes('spiffe_jwt'));
});

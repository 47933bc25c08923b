import { execFile } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { createServiceAccountIssuer } from '@gatehouse/testing/service-account-issuer';
import t from 'tap';
import { parseAllDocuments } from 'yaml';
import { commandsFor } from './configuration-commands.ts';
import { startGatehouse, temporaryDir } from './gatehouse.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const EXAMPLE = join(ROOT, 'deploy/kubernetes/configuration');
const run = promisify(execFile);

t.test('the Job applies a file by the token of its service account', async (t) => {
  const [gatehouse, cluster] = await Promise.all([
    startGatehouse(t, temporaryDir(t)),
    createServiceAccountIssuer(),
  ]);
  const admin = await commandsFor(temporaryDir(t), gatehouse);
  const made = await admin.call('POST', '/api/v1/applications', {
    ...{ name: 'Configuration', type: 'machine', scopes: ['read:data'] },
  });
  const application = `/api/v1/applications/${made.body.client_id}`;
  const { issuer, jwks, subjectOf } = cluster;
  const trusted = { issuer, jwks, kinds: ['workload'], preset: 'kubernetes' };
  t.equal((await admin.call('POST', '/api/v1/trusted-issuers', trusted)).status, 201);
  const credential = { name: 'job', issuer, subject: subjectOf('configuration') };
  t.equal((await admin.call('POST', `${application}/federated-credentials`, credential)).status, 201);

  const [job] = parseAllDocuments(readFileSync(join(EXAMPLE, 'job.yaml'), 'utf8'))
    .map((it) => it.toJS())
    .filter(({ kind }) => kind === 'Job');
  const [container] = job.spec.template.spec.containers;
  const [files, token] = [temporaryDir(t), join(temporaryDir(t), 'token')];
  cpSync(join(EXAMPLE, 'gatehouse.yaml'), join(files, 'gatehouse.yaml'));
  // The command is on the PATH as in the image, and the volumes are directories here.
  const bin = temporaryDir(t);
  symlinkSync(join(ROOT, 'packages/cli/src/main.ts'), join(bin, 'gatehouse'));
  const url = `http://localhost:${gatehouse.port}`;
  const values = {
    GATEHOUSE_URL: url,
    GATEHOUSE_CLIENT_ID: String(made.body.client_id),
    GATEHOUSE_CLIENT_ASSERTION_FILE: token,
  };
  t.same(
    container.env.map(({ name }: { name: string }) => name),
    Object.keys(values),
  );
  const [program, ...args]: string[] = container.command.map((it: string) =>
    it.replace('/etc/gatehouse', files),
  );
  const start = async (serviceAccount: string) => {
    writeFileSync(token, await cluster.sign(serviceAccount, url));
    const PATH = [bin, dirname(process.execPath), process.env.PATH].join(':');
    const ended = run(String(program), args, { env: { ...values, PATH } });
    return ended.then(
      ({ stdout }) => stdout,
      ({ stderr }) => stderr as string,
    );
  };
  t.match(await start('configuration'), /deployer/, 'nobody has marked it');
  t.equal((await admin.call('PUT', `${application}/deployer`)).status, 204);
  t.equal(await start('configuration'), '0 changes applied.\n');
  writeFileSync(
    join(files, 'gatehouse.yaml'),
    'resources: [{ identifier: "https://a.example/", name: Calendar, scopes: [{ name: "a:read", description: Read }] }]\n',
  );
  t.match(await start('users'), /federated|subject/, 'another service account');
  t.equal(await start('configuration'), '1 change applied.\n');
  t.match((await admin.export()).resources, [{ name: 'Calendar' }]);
});

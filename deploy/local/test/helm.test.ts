import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { VERSION } from '@gatehouse/core/version';
import t from 'tap';
import { parse } from 'yaml';
import { readDeployedServices, sharedSettings } from '../src/deployment/services.ts';
import { blocksOf } from './document.ts';
import { temporaryDir } from './gatehouse.ts';
import { holdToSchemas, isThere, parseObjects, render, skip as skipKustomize } from './kubernetes-objects.ts';
import type { KubernetesObject } from './network-policies.ts';

const CHART = resolve(import.meta.dirname, '../../helm');
const FILE = resolve(CHART, '../kubernetes/configuration/gatehouse.yaml');
const skip = !isThere('helm', 'version') && 'helm is not there';
/** The values in the places that kustomization.yaml leaves to an operator. */
const COMMON = ['--set', 'image.tag=YOUR_TAG'];
const DEPLOYER = [
  '--set',
  'configuration.clientId=YOUR_CLIENT_ID',
  '--set-file',
  `configuration.file=${FILE}`,
];

const helm = (...args: string[]) =>
  spawnSync('helm', ['template', 'gatehouse', CHART, '--namespace', 'gatehouse', ...args], {
    maxBuffer: 2 ** 24,
  });

function chart(...args: string[]): KubernetesObject[] {
  const { status, stdout, stderr } = helm(...COMMON, ...args);
  if (status !== 0) throw new Error(stderr.toString());
  return parseObjects(stdout);
}

/** The objects by kind and name, without what only one of the two tools needs to replace pods and Jobs. */
function comparable(objects: readonly KubernetesObject[]): Record<string, unknown> {
  const text = JSON.stringify(objects)
    .replaceAll(/"gatehouse-(settings|configuration)-[a-z0-9]{10}"/g, '"gatehouse-$1"')
    .replaceAll(/-migrations-[0-9a-f]{8}"/g, '-migrations"')
    .replaceAll(/"annotations":\{"(?:checksum|helm\.sh)\/[^}]*\},?/g, '');
  const named = (JSON.parse(text) as KubernetesObject[]).map((it) => [`${it.kind}/${it.metadata.name}`, it]);
  return Object.fromEntries(named.filter(([id]) => id !== 'Namespace/gatehouse'));
}

t.test('the chart has the objects of kustomize', { skip: skip || skipKustomize }, async (t) => {
  const small = ['--values', join(CHART, 'values-small.yaml')];
  for (const [directories, args] of [
    [['production'], []],
    [['small'], small],
    [['production', 'configuration'], DEPLOYER],
  ] as const) {
    const expected = comparable(directories.flatMap(render));
    const found = comparable(chart(...args));
    t.ok(Object.keys(expected).length > 30);
    t.same(Object.keys(found).sort(), Object.keys(expected).sort(), directories.join());
    for (const [id, object] of Object.entries(expected)) t.same(found[id], object, id);
  }
});

t.test('values', { skip }, async (t) => {
  const file = join(temporaryDir(t), 'values.yaml');
  writeFileSync(
    file,
    JSON.stringify({
      image: { repository: 'registry.test/it', tag: '2@sha256:ab' },
      gatewayClassName: 'istio',
      settings: { PUBLIC_URL: 'https://login.test', IDENTITY_SIGN_UP: 'on', LOG_LEVEL: 'debug' },
      externalSecret: {
        secretStoreRef: { name: 'vault', kind: 'ClusterSecretStore' },
        dataFrom: [{ extract: { key: 'x' } }],
      },
      resources: { limits: { memory: '1Gi' } },
      podSpec: { imagePullSecrets: [{ name: 'registry' }], nodeSelector: { disk: 'ssd' } },
      autoscaling: { minReplicas: 3, maxReplicas: 4 },
      serviceMonitor: false,
      configuration: { clientId: 'app_1', file: 'resources: []\n', prune: true },
    }),
  );
  const objects = parseObjects(helm('--values', file).stdout);
  const found = (kind: string, name: string) =>
    objects.find((it) => it.kind === kind && it.metadata.name.startsWith(name));
  holdToSchemas(t, objects);

  const pods = objects.filter(({ kind }) => ['Deployment', 'Job'].includes(kind));
  t.equal(pods.length, 13);
  for (const { metadata, spec } of pods) {
    const { imagePullSecrets, nodeSelector, containers } = spec.template.spec;
    t.same(
      { imagePullSecrets, nodeSelector },
      { imagePullSecrets: [{ name: 'registry' }], nodeSelector: { disk: 'ssd' } },
    );
    t.equal(containers[0].image, 'registry.test/it:2@sha256:ab', metadata.name);
  }
  const { volumes, containers } = found('Deployment', 'users')?.spec.template.spec ?? {};
  t.equal(volumes[0].projected.sources[0].serviceAccountToken.audience, 'https://login.test');
  t.equal(containers[0].resources.limits.memory, '1Gi');
  t.match(found('ConfigMap', 'gatehouse-settings')?.data, {
    IDENTITY_SIGN_UP: 'on',
    LOG_LEVEL: 'debug',
    PORT: '3000',
  });
  t.match(found('Gateway', 'gatehouse')?.spec, {
    gatewayClassName: 'istio',
    listeners: [{ hostname: 'login.test' }],
  });
  t.match(found('HorizontalPodAutoscaler', 'users')?.spec, { minReplicas: 3, maxReplicas: 4 });
  t.notOk(found('ServiceMonitor', ''));
  t.match(found('ExternalSecret', 'gatehouse-secrets')?.spec, { secretStoreRef: { name: 'vault' } });
  const job = found('Job', 'configuration')?.spec.template.spec;
  t.same(job.containers[0].command.slice(-2), ['--yes', '--prune']);
  t.match(job.containers[0].env, [{ value: 'https://login.test' }, { value: 'app_1' }]);
  t.equal(job.volumes[1].projected.sources[0].serviceAccountToken.audience, 'https://login.test');
  t.same(found('ConfigMap', 'gatehouse-configuration')?.data, { 'gatehouse.yaml': 'resources: []\n' });
});

t.test('the values and the command of the guide', { skip }, async (t) => {
  const directory = temporaryDir(t);
  const guide = readFileSync(resolve(CHART, '../../docs/guides/deploy-to-kubernetes.md'), 'utf8');
  const [, section = ''] = guide.split(/^## Helm$/m);
  const [values, , secrets] = blocksOf(section);
  const file = join(directory, values?.file ?? '');
  writeFileSync(file, `${values?.text}\n${secrets?.text}\n`);
  const jwks = '{"keys":[{"kty":"RSA","n":"a,b","e":"AQAB"}]}';
  writeFileSync(join(directory, 'jwks.json'), jwks);
  const [, flags = ''] = /^helm upgrade --install gatehouse deploy\/helm (.*)$/m.exec(section) ?? [];
  const args = ['template', 'gatehouse', CHART, ...flags.split(' ')];
  const objects = parseObjects(execFileSync('helm', args, { cwd: directory, stdio: 'pipe' }));
  const settings = objects.find(({ metadata }) => metadata.name === 'gatehouse-settings');
  t.equal(settings?.data?.IDENTITY_CLIENT_ASSERTION_JWKS, jwks);
  t.match(
    objects.find(({ kind }) => kind === 'ExternalSecret')?.spec,
    parse(secrets?.text ?? '').externalSecret,
  );
  t.match(objects.find(({ kind }) => kind === 'Deployment')?.metadata.namespace, 'gatehouse');
});

t.test('a change of values replaces the pods and Jobs that use them', { skip }, async (t) => {
  const stateOf = (...args: string[]) => {
    const objects = chart(...args);
    return {
      jobs: objects.filter(({ kind }) => kind === 'Job').map(({ metadata }) => metadata.name),
      pods: objects.flatMap(({ kind, spec }) =>
        kind === 'Deployment' ? [spec.template.metadata.annotations] : [],
      ),
    };
  };
  const before = stateOf();
  t.same(stateOf(), before);
  const changed = stateOf('--set', 'settings.LOG_LEVEL=debug');
  t.not(changed.jobs[0], before.jobs[0]);
  t.notSame(changed.pods, before.pods);
  t.same(stateOf('--set', 'autoscaling.maxReplicas=3').pods, before.pods);
});

t.test('a mistake in the values ends the command with its reason', { skip }, async (t) => {
  for (const [value, problem] of [
    ['settings.PUBLIC_URI=https://id.test', "'/settings': additional properties 'PUBLIC_URI' not allowed"],
    ['settings.IDENTITY_MASTER_KEY=ab', "'IDENTITY_MASTER_KEY' not allowed"],
    ['settings.PORT=80', "'PORT' not allowed"],
    ['settings.RATE_LIMIT=false', "'/settings/RATE_LIMIT': got boolean, want string"],
    ['autoscaling.replicas=2', "'/autoscaling': additional properties 'replicas' not allowed"],
    ['configuration.clientId=app_1', 'add --set-file configuration.file=gatehouse.yaml'],
  ] as const) {
    const { status, stderr } = helm('--set', value);
    t.not(status, 0, value);
    t.match(stderr.toString(), problem, value);
  }
});

t.test('helm lint', { skip }, async () => {
  execFileSync('helm', ['lint', '--strict', CHART], { stdio: 'pipe' });
});

t.test(
  'the chart has the version of the release, and every setting that is neither secret nor fixed',
  async (t) => {
    const read = (path: string) => readFileSync(join(CHART, path), 'utf8');
    t.match(parse(read('Chart.yaml')), { version: VERSION, appVersion: VERSION });
    const { settings } = JSON.parse(read('values.schema.json')).properties;
    for (const { setting } of sharedSettings(await readDeployedServices())) {
      if (setting.isSecret) t.notOk(setting.name in settings.properties, setting.name);
      else if (!(setting.name in settings.properties))
        t.match(
          setting.name,
          /^(?:HOST|PORT|MANAGEMENT_PORT|SHUTDOWN_DELAY_SECONDS|DRAIN_SECONDS|[A-Z]+_URL|[A-Z]+_CLIENT_ASSERTION_(?:FILE|SUBJECT))$/,
        );
    }
  },
);

import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CLIENT_SERVICES, clientSecretSetting, internalRoutesOf } from '@gatehouse/core/services';
import t, { type Test } from 'tap';
import { parseAllDocuments } from 'yaml';
import { readDeployedServices } from '../src/deployment/services.ts';
import { blocksOf } from './document.ts';
import { holdToSchemas, render, skip } from './kubernetes-objects.ts';
import { allows, type KubernetesObject, type Peer } from './network-policies.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const services = await readDeployedServices();
/** Services have tokens in their place. */
const CLIENT_SECRETS = CLIENT_SERVICES.map(clientSecretSetting);
const [, measured] =
  /A process has (\d+) MB/.exec(readFileSync(join(ROOT, 'docs/performance.md'), 'utf8')) ?? [];
/** What a process has after an hour of load. */
const measuredMegabytes = Number(measured);

t.test('the guide puts into the Secret what services read from it, and nothing else', async (t) => {
  const guide = readFileSync(join(ROOT, 'docs/guides/deploy-to-kubernetes.md'), 'utf8');
  const pattern = new RegExp(/^grep -E '(.+)' \.env/m.exec(guide)?.[1] ?? '-');
  const names = services.flatMap(({ settings }) => settings.filter(({ name }) => name !== 'NATS_URL'));
  for (const { name, isSecret = false } of names)
    t.equal(pattern.test(`${name}=x`), isSecret && !CLIENT_SECRETS.includes(name), name);
  for (const { name } of services) t.match(`${name.toUpperCase()}_NATS_PASSWORD=x`, pattern);
  t.notMatch('MONGO_ROOT_PASSWORD=x', pattern);
});

t.test('commands in documents name the namespace of what they are about', async (t) => {
  const documents = globSync('docs/**/*.md', { cwd: ROOT });
  const commands = documents.flatMap((path) =>
    [...readFileSync(join(ROOT, path), 'utf8').matchAll(/\bkubectl .*/g)].map(([text]) => `${path}: ${text}`),
  );
  t.ok(commands.length > 10);
  // What is not in a namespace, and files, which name theirs.
  const others = /kubectl (?:get (?:gatewayclass|--raw)|(?:create|label) namespace|apply )/;
  for (const command of commands)
    t.match(command, others.test(command) ? /./ : / --namespace (?:gatehouse|nats) /);
});

t.test('the guide for workloads has a Deployment with a token for Gatehouse', async (t) => {
  const guide = readFileSync(join(ROOT, 'docs/guides/kubernetes-without-secrets.md'), 'utf8');
  const manifest = blocksOf(guide).find(({ language }) => language === 'yaml')?.text ?? '';
  const objects = parseAllDocuments(manifest).map((it) => it.toJS() as KubernetesObject);
  t.same(
    objects.map(({ kind }) => kind),
    ['ServiceAccount', 'Deployment'],
  );
  holdToSchemas(t, objects);
});

function requireRestricted(t: Test, { metadata, spec }: KubernetesObject): void {
  const { spec: pod } = spec.template;
  t.match(
    pod,
    {
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 1000,
        seccompProfile: { type: 'RuntimeDefault' },
      },
    },
    metadata.name,
  );
  t.equal(pod.containers.length, 1);
  t.same(pod.containers[0].securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  });
}

for (const overlay of ['small', 'production']) {
  t.test(`deploy/kubernetes/${overlay}`, { skip }, async (t) => {
    const objects = render(overlay);
    const ofKind = (kind: string) => objects.filter((it) => it.kind === kind);
    const named = (kind: string, name: string) => ofKind(kind).find((it) => it.metadata.name === name);
    const settings = ofKind('ConfigMap')[0]?.data ?? {};

    holdToSchemas(t, objects);

    t.test('each service has a Deployment that is replaced without a failed request', async (t) => {
      t.same(
        ofKind('Deployment')
          .map(({ metadata }) => metadata.name)
          .sort(),
        services.map(({ name }) => name).sort(),
      );
      for (const { metadata, spec } of ofKind('Deployment')) {
        const { spec: pod, metadata: labelled } = spec.template;
        const [container] = pod.containers;
        const name = metadata.name;
        t.match(
          spec.strategy,
          { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
          name,
        );
        t.notOk('replicas' in spec, 'an update leaves the number of replicas alone');
        const seconds = Number(settings.SHUTDOWN_DELAY_SECONDS) + Number(settings.DRAIN_SECONDS);
        t.ok(pod.terminationGracePeriodSeconds > seconds, `${name} may take ${seconds} s to stop`);
        const noticed = container.readinessProbe.periodSeconds * container.readinessProbe.failureThreshold;
        t.ok(Number(settings.SHUTDOWN_DELAY_SECONDS) > noticed, `${name}: ${noticed} s until it is noticed`);
        t.match(container.ports, [
          { name: 'http', containerPort: Number(settings.PORT) },
          { name: 'management', containerPort: Number(settings.MANAGEMENT_PORT) },
        ]);
        for (const [probe, path] of [
          ['startupProbe', '/health/live'],
          ['readinessProbe', '/health/ready'],
          ['livenessProbe', '/health/live'],
        ] as const) {
          t.same(container[probe].httpGet, { path, port: 'management' }, `${name}: ${probe}`);
        }
        t.match(container.resources, { requests: { cpu: /./, memory: /./ }, limits: { memory: /./ } });
        t.same(
          pod.topologySpreadConstraints.map((it: { topologyKey: string }) => it.topologyKey),
          ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'],
        );
        t.match(labelled.labels, { 'app.kubernetes.io/part-of': 'gatehouse', ...spec.selector.matchLabels });
      }
    });

    t.test('pods are restricted, as the namespace enforces', async (t) => {
      t.equal(ofKind('Namespace')[0]?.metadata.labels?.['pod-security.kubernetes.io/enforce'], 'restricted');
      for (const object of [...ofKind('Deployment'), ...ofKind('Job')]) requireRestricted(t, object);
    });

    t.test(
      'a service gets its own secrets, every required setting, and no secret is in the tree',
      async (t) => {
        t.same(ofKind('Secret'), []);
        for (const service of services) {
          const [container] = named('Deployment', service.name)?.spec.template.spec.containers ?? [];
          type Variable = {
            name: string;
            value?: string;
            valueFrom?: { secretKeyRef?: { key: string; optional?: true } };
          };
          const env: Variable[] = container.env;
          const secrets = env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? []);
          const password = `${service.name.toUpperCase()}_NATS_PASSWORD`;
          const own = service.settings.filter(
            ({ name, isSecret }) => isSecret && ![...CLIENT_SECRETS, 'NATS_URL'].includes(name),
          );
          t.same(
            secrets.map(({ key }) => key).sort(),
            [...own.map(({ name }) => name), ...(service.usesNats ? [password] : [])].sort(),
            service.name,
          );
          for (const { key, optional } of secrets) {
            const fallback = service.settings.find(({ name }) => name === key)?.fallback;
            t.equal(optional === true, fallback !== undefined, `${service.name}: ${key}`);
          }
          const url = env.find(({ name }) => name === 'NATS_URL')?.value;
          t.equal(
            url,
            service.usesNats ? `nats://${service.name}:$(${password})@$(NATS_ADDRESS)` : undefined,
          );
          for (const { name, fallback, isSecret } of service.settings) {
            if (CLIENT_SECRETS.includes(name)) continue;
            const isSet = name in settings || env.some((variable) => variable.name === name);
            t.ok(isSet || fallback !== undefined, `${service.name} has ${name}`);
            t.notOk(isSecret && name in settings, `${name} is not in the ConfigMap`);
          }
        }
      },
    );

    t.test('a service has an identity of its own, and a token for identity alone', async (t) => {
      const subjects: Record<string, string> = {};
      for (const { name } of services) {
        const account = named('ServiceAccount', name);
        t.equal(account?.automountServiceAccountToken, false, 'no token for the API of Kubernetes');
        const pod = named('Deployment', name)?.spec.template.spec;
        t.equal(pod.serviceAccountName, name);
        const [container] = pod.containers;
        const value = (variable: string): string | undefined =>
          container.env.find((it: { name: string }) => it.name === variable)?.value;
        if (name === 'identity') {
          t.notOk('volumes' in pod, 'identity signs its own tokens');
          for (const client of CLIENT_SERVICES)
            subjects[client] = String(value(`${client.toUpperCase()}_CLIENT_ASSERTION_SUBJECT`));
          continue;
        }
        t.equal(subjects[name], `system:serviceaccount:$(NAMESPACE):${name}`);
        const [mount] = container.volumeMounts;
        const [volume] = pod.volumes;
        t.same([mount.name, mount.readOnly], [volume.name, true]);
        const [{ serviceAccountToken: token }] = volume.projected.sources;
        t.match(token, { audience: settings.PUBLIC_URL, expirationSeconds: 3600 });
        t.equal(value(`${name.toUpperCase()}_CLIENT_ASSERTION_FILE`), `${mount.mountPath}/${token.path}`);
      }
      for (const name of ['IDENTITY_CLIENT_ASSERTION_ISSUER', 'IDENTITY_CLIENT_ASSERTION_JWKS'])
        t.ok(name in settings, name);
    });

    t.test('every public path of the table leads to its service, and nothing internal to any', async (t) => {
      const isMatch = ({ type, value }: { type: string; value: string }, path: string) =>
        path === value || (type === 'PathPrefix' && path.startsWith(`${value}/`));
      const routed = (path: string) =>
        ofKind('HTTPRoute').flatMap(({ spec }) =>
          spec.rules
            .filter((rule: { matches: { path: { type: string; value: string } }[] }) =>
              rule.matches.some((match) => isMatch(match.path, path)),
            )
            .flatMap((rule: { backendRefs: unknown[] }) => rule.backendRefs),
        );
      for (const { name, prefixes } of services) {
        for (const prefix of prefixes) {
          t.same(routed(prefix), [{ name, port: 3000 }], prefix);
          if (prefix !== '/') t.same(routed(`${prefix}/below`), [{ name, port: 3000 }], `${prefix}/below`);
          t.same(routed(`${prefix}x`), [], `${prefix}x`);
        }
        for (const { prefix } of internalRoutesOf(name)) t.same(routed(prefix), [], prefix);
        t.match(named('Service', name)?.spec, {
          selector: { 'app.kubernetes.io/name': name },
          ports: [{ port: 3000, targetPort: 'http' }],
        });
      }
      for (const path of ['/health/ready', '/metrics', '/internal']) t.same(routed(path), [], path);
      const listeners = ofKind('Gateway')[0]?.spec.listeners;
      t.match(listeners, [{ protocol: 'HTTPS', hostname: new URL(settings.PUBLIC_URL ?? '').hostname }]);
      t.equal(listeners.length, 1, 'nothing is served in the clear');
      for (const { spec } of ofKind('HTTPRoute')) t.same(spec.parentRefs, [{ name: 'gatehouse' }]);
    });

    t.test('network policies allow what the table says and nothing else', async (t) => {
      const policies = ofKind('NetworkPolicy');
      const pod = (namespace: string, labels: Record<string, string>, namespaceLabels = {}): Peer => ({
        namespace,
        labels,
        namespaceLabels,
      });
      const podOf = (kind: string, name: string) =>
        pod('gatehouse', named(kind, name)?.spec.template.metadata.labels);
      const own = services.map(({ name }) => ({ name, peer: podOf('Deployment', name) }));
      const inStores = (label: string) => pod('stores', { [label]: 'true' }, { 'gatehouse/stores': 'true' });
      const stores = own.map(({ name }) => ({ name, peer: inStores(`gatehouse/${name}-database`) }));
      const others: [string, Peer, number[]][] = [
        ['the gateway', pod('edge', {}, { 'gatehouse/gateway': 'true' }), [3000]],
        ['monitoring', pod('monitoring', {}, { 'gatehouse/monitoring': 'true' }), [9000]],
        ['a collector of traces', pod('traces', {}, { 'gatehouse/traces': 'true' }), []],
        ['another namespace', pod('other', { 'app.kubernetes.io/name': 'identity' }), []],
        ['another pod of the namespace', pod('gatehouse', { 'app.kubernetes.io/name': 'other' }), []],
      ];
      for (const { name, calls, usesNats } of services) {
        const self = own.find((it) => it.name === name)?.peer as Peer;
        for (const { name: other, peer } of own) {
          t.equal(allows(policies, self, peer, 3000), calls.includes(other), `${name} calls ${other}`);
          t.notOk(allows(policies, self, peer, 9000), `${name} does not manage ${other}`);
        }
        for (const { name: owner, peer } of stores) {
          t.equal(
            allows(policies, self, peer, 27017),
            owner === name,
            `${name} and the database of ${owner}`,
          );
        }
        t.equal(allows(policies, self, inStores('gatehouse/nats'), 4222), usesNats, `${name} and NATS`);
        for (const [from, peer, ports] of others) {
          const open = [80, 3000, 9000].filter((port) => allows(policies, peer, self, port));
          t.same(open, ports, `${from} reaches ${name}`);
        }
        for (const port of [4318, 9000]) {
          const collector = others.find(([from]) => from === 'a collector of traces')?.[1] as Peer;
          t.equal(allows(policies, self, collector, port), port === 4318, `${name} sends traces to ${port}`);
        }
        const isSender = ['identity', 'notifications'].includes(name);
        t.equal(
          allows(policies, self, { address: '93.184.216.34' }, 443),
          isSender,
          `${name} and the internet`,
        );
        for (const address of ['169.254.169.254', '10.0.0.7', 'fd00::7']) {
          t.notOk(allows(policies, self, { address }, 443), `${name} and ${address}`);
        }
        const dns = pod(
          'kube-system',
          { 'k8s-app': 'kube-dns' },
          { 'kubernetes.io/metadata.name': 'kube-system' },
        );
        t.ok(allows(policies, self, dns, 53), `${name} resolves names`);
      }
    });

    const production = overlay === 'production';

    t.test('a Job for each service migrates, and replicas wait for it', async (t) => {
      t.equal(settings.MIGRATE_AT_START, production ? 'off' : undefined);
      t.equal(ofKind('Job').length, production ? services.length : 0);
      for (const { metadata, spec } of ofKind('Job')) {
        const { name } = metadata;
        const service = name.replace(/-migrations$/, '');
        t.match(metadata.labels, { 'app.kubernetes.io/component': 'migrations' }, 'to be found and removed');
        const { containers, restartPolicy } = spec.template.spec;
        const replica = named('Deployment', service)?.spec.template.spec.containers[0];
        const { command, env, envFrom, image, securityContext } = containers[0];
        t.same(command, [...replica.command, 'migrate']);
        t.same(
          { env, envFrom, image, securityContext },
          {
            ...{ env: replica.env, envFrom: replica.envFrom },
            ...{ image: replica.image, securityContext: replica.securityContext },
          },
        );
        t.equal(restartPolicy, 'OnFailure');

        const { labels } = spec.template.metadata;
        // A Service, a PodDisruptionBudget and an HorizontalPodAutoscaler select replicas by their name alone.
        t.notOk(
          services.some((it) => it.name === labels['app.kubernetes.io/name']),
          `${name} is no replica`,
        );
        const policies = ofKind('NetworkPolicy');
        const self: Peer = { namespace: 'gatehouse', labels, namespaceLabels: {} };
        for (const { name: owner } of services) {
          const label = { [`gatehouse/${owner}-database`]: 'true' };
          const database: Peer = {
            namespace: 'stores',
            labels: label,
            namespaceLabels: { 'gatehouse/stores': 'true' },
          };
          t.equal(
            allows(policies, self, database, 27017),
            owner === service,
            `${name} and the database of ${owner}`,
          );
        }
      }
    });

    t.test('the Prometheus Operator finds the management port of every service', async (t) => {
      const monitors = ofKind('ServiceMonitor');
      t.equal(monitors.length, production ? 1 : 0);
      for (const { spec } of monitors) {
        const { endpoints, selector, jobLabel } = spec;
        for (const { name } of services) {
          t.match(named('Service', name)?.metadata.labels, {
            ...selector.matchLabels,
            [jobLabel]: 'gatehouse',
          });
          const ports: { name: string }[] = named('Deployment', name)?.spec.template.spec.containers[0].ports;
          t.ok(
            ports.some((port) => port.name === endpoints[0].targetPort),
            name,
          );
        }
      }
    });

    t.test('replicas', async (t) => {
      for (const { name } of services) {
        const target = { apiVersion: 'apps/v1', kind: 'Deployment', name };
        const autoscaler = named('HorizontalPodAutoscaler', name)?.spec;
        const cores = { type: 'AverageValue', averageValue: '700m' };
        const metrics = [{ type: 'Resource', resource: { name: 'cpu', target: cores } }];
        t.match(autoscaler, production ? { scaleTargetRef: target, minReplicas: 2, metrics } : undefined);
        const { requests } = named('Deployment', name)?.spec.template.spec.containers[0].resources ?? {};
        t.ok(
          !production || Number.parseInt(requests.memory, 10) >= measuredMegabytes,
          `${name}: ${requests.memory}`,
        );
        const budget = named('PodDisruptionBudget', name)?.spec;
        const selector = { matchLabels: { 'app.kubernetes.io/name': name } };
        t.match(budget, production ? { maxUnavailable: 1, selector } : undefined);
      }
      t.equal(settings.RATE_LIMIT_STORE, production ? 'mongodb' : undefined);
    });
  });
}

t.test('deploy/kubernetes/configuration', { skip }, async (t) => {
  const objects = render('configuration');
  holdToSchemas(t, objects);
  const found = (kind: string) => objects.find((it) => it.kind === kind) as KubernetesObject;
  const job = found('Job');
  requireRestricted(t, job);
  const { serviceAccountName, containers, volumes } = job.spec.template.spec;
  t.equal(serviceAccountName, found('ServiceAccount').metadata.name);
  t.match(volumes[1].projected.sources[0].serviceAccountToken, {
    audience: containers[0].env[0].value,
    expirationSeconds: 3600,
  });

  const { labels } = job.spec.template.metadata;
  const self: Peer = { namespace: 'gatehouse', labels, namespaceLabels: {} };
  // The policies of all services hold for its pod, too.
  const policies = [...render('production'), ...objects].filter(({ kind }) => kind === 'NetworkPolicy');
  const inNamespace = (namespaceLabels: Record<string, string>): Peer => ({
    ...{ namespace: 'other', labels: { 'gatehouse/identity-database': 'true' }, namespaceLabels },
  });
  for (const [peer, port, isAllowed] of [
    [inNamespace({ 'gatehouse/gateway': 'true' }), 10443, true],
    [{ address: '93.184.216.34' }, 443, true],
    [{ address: '93.184.216.34' }, 80, false],
    [{ address: '169.254.169.254' }, 443, false],
    [{ address: '10.0.0.7' }, 443, false],
    [inNamespace({ 'gatehouse/stores': 'true' }), 27017, false],
  ] as const)
    t.equal(allows(policies, self, peer, port), isAllowed, JSON.stringify([peer, port]));
});

t.test('deploy/kubernetes/backup', { skip }, async (t) => {
  const objects = render('backup');
  holdToSchemas(t, objects);
  const { metadata, spec } = objects.find(({ kind }) => kind === 'CronJob') as KubernetesObject;
  requireRestricted(t, { metadata, spec: spec.jobTemplate.spec } as KubernetesObject);
  const { labels } = spec.jobTemplate.spec.template.metadata;
  const self: Peer = { namespace: 'gatehouse', labels, namespaceLabels: {} };
  const production = render('production');
  const policies = [...production, ...objects].filter(({ kind }) => kind === 'NetworkPolicy');
  const database: Peer = {
    namespace: 'stores',
    labels: Object.fromEntries(services.map(({ name }) => [`gatehouse/${name}-database`, 'true'])),
    namespaceLabels: { 'gatehouse/stores': 'true' },
  };
  t.equal(allows(policies, self, database, 27017), true);
  t.equal(allows(policies, self, { ...database, labels: {} }, 27017), false);
  for (const { metadata, spec } of production.filter(({ kind }) => kind === 'Deployment')) {
    const replica: Peer = { ...self, labels: spec.template.metadata.labels };
    t.equal(allows(policies, self, replica, 3000), false, metadata.name);
  }
});

t.test('deploy/kubernetes/nats', { skip }, async (t) => {
  const objects = render('nats');
  holdToSchemas(t, objects);
  const found = (kind: string) => objects.find((it) => it.kind === kind);
  const { replicas, template } = found('StatefulSet')?.spec ?? {};
  const [container] = template.spec.containers;

  t.test('as many servers as the configuration leads to, with the files that it reads', async (t) => {
    const files = found('ConfigMap')?.data ?? {};
    for (const name of ['nats.conf', 'nats-cluster.conf']) {
      t.equal(files[name], readFileSync(join(ROOT, 'deploy/docker', name), 'utf8'), name);
    }
    const routes = [...(files['nats-cluster.conf'] ?? '').matchAll(/nats:\/\/nats-\d\.nats:6222/g)];
    t.equal(routes.length, replicas);
    t.ok(container.args.includes(`${container.volumeMounts[1].mountPath}/nats-cluster.conf`));
    t.match(container.securityContext, { readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } });
  });

  t.test('services reach it, its servers reach each other, and nobody else', async (t) => {
    const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy');
    const server = { namespace: 'nats', labels: template.metadata.labels, namespaceLabels: {} };
    const gatehouse = { 'kubernetes.io/metadata.name': 'gatehouse' };
    const labels = { 'app.kubernetes.io/part-of': 'gatehouse' };
    for (const [peer, ports] of [
      [server, [6222]],
      [{ namespace: 'gatehouse', labels, namespaceLabels: gatehouse }, [4222]],
      [{ namespace: 'gatehouse', labels: {}, namespaceLabels: gatehouse }, []],
      [{ namespace: 'monitoring', labels: {}, namespaceLabels: { 'gatehouse/monitoring': 'true' } }, [7777]],
      [{ namespace: 'other', labels, namespaceLabels: {} }, []],
    ] as const) {
      const open = [4222, 6222, 7777, 8222].filter((port) => allows(policies, peer, server, port));
      t.same(open, ports, JSON.stringify(peer));
    }
  });

  t.test('the Prometheus Operator finds the exporter of each server', async (t) => {
    const { spec } = render('production').find(({ kind }) => kind === 'PodMonitor') ?? {};
    const [{ port }] = spec.podMetricsEndpoints;
    t.match(spec.namespaceSelector, { matchNames: [found('StatefulSet')?.metadata.namespace] });
    t.match(template.metadata.labels, { ...spec.selector.matchLabels, [spec.jobLabel]: 'nats' });
    const exporter = template.spec.containers.find((it: { name: string }) => it.name === 'exporter');
    t.match(exporter, {
      ports: [{ name: port, containerPort: 7777 }],
      securityContext: container.securityContext,
    });
  });
});

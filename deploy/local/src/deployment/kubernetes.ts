import { CLIENT_SERVICES, clientSecretSetting, type ServiceName } from '@gatehouse/core/services';
import {
  natsUrlSetting,
  serviceAssertionFileSetting,
  serviceAssertionSubjectSetting,
  serviceUrlSetting,
} from '@gatehouse/server/service-settings';
import { stringify } from 'yaml';
import type { GeneratedText } from '../generated-files.ts';
import { type DeployedService, natsPasswordVariable } from './services.ts';

const HEADER =
  '# Written by npm run deployment from the table of services (packages/core/src/services.ts) and their settings.\n';
const NAME_LABEL = 'app.kubernetes.io/name';
const HTTP_PORT = 3000;
const MONGODB_PORT = 27017;
const NATS_PORT = 4222;
// The files of deploy/kubernetes/base that are written by hand have the same ports and names.
const SETTINGS = 'gatehouse-settings';
const SECRETS = 'gatehouse-secrets';
const TOKEN_VOLUME = 'identity-token';
const TOKEN_DIRECTORY = '/var/run/secrets/gatehouse';
const TOKEN_FILE = 'token';

/** The Kubernetes objects that depend on the services, without what kustomize adds to all of a kind. */
export function kubernetesManifests(services: readonly DeployedService[]): GeneratedText[] {
  const files = {
    'base/services.yaml': services.flatMap((service) => [
      serviceAccount(service),
      deployment(service),
      serviceObject(service),
    ]),
    'base/routes.yaml': services.map(route),
    'base/service-policies.yaml': services.map((service) => networkPolicy(service, services)),
    'production/migrations.yaml': services.flatMap((service) => [
      migration(service),
      migrationPolicy(service),
    ]),
    'production/scaling.yaml': services.flatMap(({ name }) => [autoscaler(name), disruptionBudget(name)]),
  };
  return Object.entries(files).map(([path, objects]) => ({
    path: `deploy/kubernetes/${path}`,
    text: HEADER + objects.map((object) => stringify(object, { aliasDuplicateObjects: false })).join('---\n'),
  }));
}

const objectOf = (apiVersion: string, kind: string, name: string, spec: object) => ({
  apiVersion,
  kind,
  metadata: { name },
  spec,
});

/** The identity of a service in the cluster. It has no access to the API of Kubernetes. */
const serviceAccount = ({ name }: DeployedService) => ({
  ...{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } },
  automountServiceAccountToken: false,
});

function deployment(service: DeployedService) {
  const { name } = service;
  const labels = { [NAME_LABEL]: name };
  const pod = isClient(name)
    ? {
        containers: [
          {
            ...container(service),
            volumeMounts: [{ name: TOKEN_VOLUME, mountPath: TOKEN_DIRECTORY, readOnly: true }],
          },
        ],
        volumes: [{ name: TOKEN_VOLUME, projected: { sources: [{ serviceAccountToken: TOKEN }] } }],
      }
    : { containers: [container(service)] };
  return objectOf('apps/v1', 'Deployment', name, {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { serviceAccountName: name, ...pod } },
  });
}

/** The token by which a service authenticates at identity. The kubelet replaces it when four fifths of its time have passed. */
const TOKEN = { audience: 'set-by-the-overlay', expirationSeconds: 3600, path: TOKEN_FILE };

const isClient = (service: ServiceName) => CLIENT_SERVICES.some((it) => it === service);

/**
 * The Job that applies the migrations of a service. Its pod has a name of its own, so that what selects the replicas of the
 * service does not select it.
 */
function migration(service: DeployedService) {
  const job = objectOf('batch/v1', 'Job', migrationOf(service.name), {
    template: {
      metadata: { labels: { [NAME_LABEL]: migrationOf(service.name) } },
      spec: { containers: [container(service, 'migrate')] },
    },
  });
  // The label by which earlier ones are found and removed.
  return { ...job, metadata: { ...job.metadata, labels: { 'app.kubernetes.io/component': 'migrations' } } };
}

const migrationOf = (service: string) => `${service}-migrations`;

function container(service: DeployedService, ...args: string[]) {
  const { name, process } = service;
  return {
    name: 'service',
    image: 'gatehouse',
    command: ['node', ...(process?.options ?? []), `services/${name}/src/service.ts`, ...args],
    envFrom: [{ configMapRef: { name: SETTINGS } }],
    env: environment(service),
  };
}

/** The variables of a service that others do not have. Settings that are neither secrets nor addresses are in the ConfigMap. */
function environment({ name, settings, calls, usesNats, process }: DeployedService) {
  const fromSecret = (key: string, isOptional: boolean) => ({
    name: key,
    valueFrom: {
      secretKeyRef: { name: SECRETS, key, ...(isOptional ? { optional: true } : {}) },
    },
  });
  const password = natsPasswordVariable(name);
  const nats = [
    fromSecret(password, false),
    { name: 'NATS_ADDRESS', valueFrom: { configMapKeyRef: { name: SETTINGS, key: 'NATS_ADDRESS' } } },
    // Kubernetes replaces the names in it by the two values above.
    { name: natsUrlSetting.name, value: `nats://${name}:$(${password})@$(NATS_ADDRESS)` },
  ];
  const replaced = [natsUrlSetting.name, ...CLIENT_SERVICES.map(clientSecretSetting)];
  const tokenFile = [
    { name: serviceAssertionFileSetting(name).name, value: `${TOKEN_DIRECTORY}/${TOKEN_FILE}` },
  ];
  const subjects = [
    { name: 'NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
    ...CLIENT_SERVICES.map((client) => ({
      name: serviceAssertionSubjectSetting(client).name,
      value: `system:serviceaccount:$(NAMESPACE):${client}`,
    })),
  ];
  return [
    ...Object.entries(process?.environment ?? {}).map(([key, value]) => ({ name: key, value })),
    ...calls.map((other) => ({ name: serviceUrlSetting(other).name, value: `http://${other}:${HTTP_PORT}` })),
    ...settings
      .filter((setting) => setting.isSecret && !replaced.includes(setting.name))
      .map((setting) => fromSecret(setting.name, setting.fallback !== undefined)),
    ...(isClient(name) ? tokenFile : subjects),
    ...(usesNats ? nats : []),
  ];
}

function serviceObject({ name }: DeployedService) {
  return objectOf('v1', 'Service', name, {
    selector: { [NAME_LABEL]: name },
    ports: [{ name: 'http', port: HTTP_PORT, targetPort: 'http' }],
  });
}

/** The public paths of a service. A prefix matches whole segments (Gateway API, PathPrefix), as in the table. */
function route({ name, prefixes }: DeployedService) {
  return objectOf('gateway.networking.k8s.io/v1', 'HTTPRoute', name, {
    parentRefs: [{ name: 'gatehouse' }],
    rules: [
      {
        matches: prefixes.map((value) => ({
          path: { type: value === '/' ? 'Exact' : 'PathPrefix', value },
        })),
        backendRefs: [{ name, port: HTTP_PORT }],
      },
    ],
  });
}

/** The traffic of a service that is allowed: from its callers, and to the services that it calls, its database, and NATS. */
function networkPolicy({ name, calls, usesNats }: DeployedService, services: readonly DeployedService[]) {
  const callers = services.filter((other) => other.calls.includes(name)).map((other) => other.name);
  const http = [{ port: HTTP_PORT }];
  return objectOf('networking.k8s.io/v1', 'NetworkPolicy', name, {
    podSelector: { matchLabels: { [NAME_LABEL]: name } },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [
      { from: [{ namespaceSelector: { matchLabels: { 'gatehouse/gateway': 'true' } } }], ports: http },
      ...(callers.length > 0 ? [{ from: podsOf(callers), ports: http }] : []),
    ],
    egress: [
      ...(calls.length > 0 ? [{ to: podsOf(calls), ports: http }] : []),
      databaseOf(name),
      ...(usesNats ? [store('nats', NATS_PORT)] : []),
    ],
  });
}

/** A Job that migrates reaches the database, and nobody reaches it. */
function migrationPolicy({ name }: DeployedService) {
  return objectOf('networking.k8s.io/v1', 'NetworkPolicy', migrationOf(name), {
    podSelector: { matchLabels: { [NAME_LABEL]: migrationOf(name) } },
    policyTypes: ['Egress'],
    egress: [databaseOf(name)],
  });
}

const databaseOf = (service: string) => store(`${service}-database`, MONGODB_PORT);

const store = (label: string, port: number) => ({
  to: [
    {
      namespaceSelector: { matchLabels: { 'gatehouse/stores': 'true' } },
      podSelector: { matchLabels: { [`gatehouse/${label}`]: 'true' } },
    },
  ],
  ports: [{ port }],
});

const podsOf = (names: readonly string[]) =>
  names.map((name) => ({ podSelector: { matchLabels: { [NAME_LABEL]: name } } }));

/** By cores: a share of the request would be reached long before a replica, which can use a core, has much to do. */
function autoscaler(name: string) {
  const target = { type: 'AverageValue', averageValue: '700m' };
  return objectOf('autoscaling/v2', 'HorizontalPodAutoscaler', name, {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
    minReplicas: 2,
    maxReplicas: 10,
    metrics: [{ type: 'Resource', resource: { name: 'cpu', target } }],
  });
}

function disruptionBudget(name: string) {
  const selector = { matchLabels: { [NAME_LABEL]: name } };
  return objectOf('policy/v1', 'PodDisruptionBudget', name, { maxUnavailable: 1, selector });
}

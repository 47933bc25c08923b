import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { VERSION } from '@gatehouse/core/version';
import { isMap, parse, parseAllDocuments, parseDocument, type Scalar, stringify } from 'yaml';
import type { GeneratedText } from '../generated-files.ts';
import { kubernetesManifests } from './kubernetes.ts';
import { type DeployedService, sharedSettings } from './services.ts';

// deploy/helm has the objects that kustomize builds from deploy/kubernetes/production and configuration. Values replace some of their lines.

const ROOT = join(import.meta.dirname, '../../../..');
const HEADER = 'Written by npm run deployment from deploy/kubernetes.';
const VALUES = 'deploy/helm/values.yaml';
const CHART = {
  ...{ apiVersion: 'v2', name: 'gatehouse', type: 'application', version: VERSION, appVersion: VERSION },
  description: 'One HTTP interface for identity, users and commerce.',
  kubeVersion: '>=1.30.0-0',
};

type KubernetesObject = {
  kind: string;
  metadata: { name: string };
  spec?: { template?: { spec: { containers: { env: { name: string }[] }[] } } };
};
type BuiltObject = { path: string; object: KubernetesObject };
type Kustomization = {
  resources: string[];
  labels?: { pairs: object }[];
  patches?: { path: string; target?: { kind: string } }[];
};
/** Reads a file of deploy/kubernetes. */
type Read = (path: string) => string;

/** Objects of the cluster that an administrator makes before the release. */
const OMITTED = 'base/namespace.yaml';

/** The files whose objects are optional, with the conditions of these objects. */
const CONDITIONS: Readonly<Record<string, string>> = {
  'production/migrations.yaml': 'eq (toString .Values.settings.MIGRATE_AT_START) "off"',
  'production/scaling.yaml': '.Values.autoscaling.enabled',
  'production/monitoring.yaml': '.Values.serviceMonitor',
  'configuration/job.yaml': '.Values.configuration.clientId',
};

const POD = /^(?:Deployment|Job)\//;
const DEPLOYMENT = /^Deployment\//;
const AUTOSCALER = /^HorizontalPodAutoscaler\//;
const CONFIGURATION = /^Job\/configuration$/;
const PUBLIC_URL = '{{ .Values.settings.PUBLIC_URL | quote }}';

/** The lines that values replace, by the kind and name of their objects. Each of these objects must have the line. */
const LINES: readonly (readonly [object: RegExp, line: RegExp, replacement: string])[] = [
  [/./, /^metadata:\n/m, '$&  namespace: {{ .Release.Namespace }}\n'],
  [
    POD,
    /^ {6}containers:\n/m,
    '      {{- with .Values.podSpec }}\n      {{- toYaml . | nindent 6 }}\n      {{- end }}\n$&',
  ],
  [
    POD,
    /(image:) gatehouse$/m,
    '$1 {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}',
  ],
  [
    DEPLOYMENT,
    /^ {4}metadata:\n/m,
    '$&      annotations:\n        checksum/settings: {{ toJson .Values.settings | sha256sum }}\n',
  ],
  [DEPLOYMENT, /^( +resources:)\n(?: {12}.*\n)+/m, '$1 {{ toJson .Values.resources }}\n'],
  // A Job cannot be changed: with other values, it gets another name, and Helm deletes the earlier one.
  [
    /^Job\/.*-migrations$/,
    /^ {2}name: .*/m,
    '$&-{{ toJson (list .Chart.Version .Values) | sha256sum | trunc 8 }}',
  ],
  [
    /^(?:Deployment\/(?!identity$)|Job\/configuration$)/,
    /(audience:) set-by-the-overlay/,
    `$1 ${PUBLIC_URL}`,
  ],
  [/^Gateway\//, /(hostname:) .*/, '$1 {{ (urlParse .Values.settings.PUBLIC_URL).hostname | quote }}'],
  [/^Gateway\//, /(gatewayClassName:) .*/, '$1 {{ .Values.gatewayClassName | quote }}'],
  [AUTOSCALER, /(minReplicas:) .*/, '$1 {{ .Values.autoscaling.minReplicas }}'],
  [AUTOSCALER, /(maxReplicas:) .*/, '$1 {{ .Values.autoscaling.maxReplicas }}'],
  [
    CONFIGURATION,
    /^metadata:\n/m,
    '$&  annotations:\n    helm.sh/hook: post-install,post-upgrade\n    helm.sh/hook-delete-policy: before-hook-creation\n',
  ],
  [CONFIGURATION, /(value:) https:.*/, `$1 ${PUBLIC_URL}`],
  [CONFIGURATION, /(value:) YOUR_CLIENT_ID/, '$1 {{ .Values.configuration.clientId | quote }}'],
  [
    CONFIGURATION,
    /^( +)- --yes\n/m,
    '$&$1{{- if .Values.configuration.prune }}\n$1- --prune\n$1{{- end }}\n',
  ],
];

/** The generated files of the Helm chart, which follow the services, their settings and their objects. */
export function helmChart(services: readonly DeployedService[]): GeneratedText[] {
  const generated = new Map(kubernetesManifests(services).map(({ path, text }) => [path, text]));
  const read: Read = (path) => {
    const inRepository = `deploy/kubernetes/${path}`;
    return generated.get(inRepository) ?? readFileSync(join(ROOT, inRepository), 'utf8');
  };
  const built = [...build('production', read), ...build('configuration', read)];
  const templates = [...Map.groupBy(built, ({ path }) => path)].filter(([path]) => path !== OMITTED);
  const fixed = parseEnv(read('base/settings.env'));
  const containers = built.flatMap(({ object }) => object.spec?.template?.spec.containers ?? []);
  const fixedNames = [...Object.keys(fixed), ...containers.flatMap(({ env }) => env.map(({ name }) => name))];
  const files = {
    'Chart.yaml': `# ${HEADER}\n${stringify(CHART)}`,
    'values.schema.json': `${JSON.stringify(valuesSchema(services, fixedNames), undefined, 2)}\n`,
    'templates/settings.yaml': settingsTemplate(fixed),
    ...Object.fromEntries(
      templates.map(([path, objects]) => [`templates/${path.replace('/', '-')}`, template(path, objects)]),
    ),
  };
  // Without quotes, off would be a boolean to Helm.
  const settings = read('production/settings.env').replaceAll(
    /^([A-Z_]+)=(.*)$/gm,
    (_, name, value) => `${name}: ${JSON.stringify(value)}`,
  );
  return [
    ...Object.entries(files).map(([path, text]) => ({ path: `deploy/helm/${path}`, text })),
    { path: VALUES, part: 'settings', text: settings.replaceAll(/^(?=.)/gm, '  ') },
  ];
}

/** The objects of a directory, each with the path of its file, after the labels and patches of its kustomization.yaml. */
function build(directory: string, read: Read): BuiltObject[] {
  const kustomization: Kustomization = parse(read(`${directory}/kustomization.yaml`));
  const { resources, labels = [], patches = [] } = kustomization;
  const own = resources.flatMap((resource) => {
    if (resource.startsWith('../')) return build(resource.slice('../'.length), read);
    const path = `${directory}/${resource}`;
    return parseAllDocuments(read(path)).map((it) => ({ path, object: it.toJS() as KubernetesObject }));
  });
  const changes = patches.map(({ path, target }) => {
    const { kind, spec } = parse(read(`${directory}/${path}`));
    return { kind: target?.kind ?? kind, change: { spec } };
  });
  return own.map(({ path, object }) => {
    const ofKind = changes.filter(({ kind }) => kind === object.kind).map(({ change }) => change);
    const labelled = labels.flatMap(({ pairs }) => {
      const metadata = { labels: pairs };
      return [{ metadata }, ...(object.spec?.template ? [{ spec: { template: { metadata } } }] : [])];
    });
    return { path, object: [...ofKind, ...labelled].reduce<unknown>(merge, object) as KubernetesObject };
  });
}

/** A strategic merge. Lists are merged by the names of their entries where these have names, and replaced otherwise. */
function merge(target: unknown, patch: unknown): unknown {
  if (isNamed(target) && isNamed(patch)) {
    const added = patch.filter(({ name }) => !target.some((it) => it.name === name));
    return [...target.map((it) => merge(it, patch.find(({ name }) => name === it.name) ?? {})), ...added];
  }
  if (!isRecord(target) || !isRecord(patch)) return patch;
  const merged = Object.entries(patch).map(([key, value]) => [key, merge(target[key], value)]);
  return { ...target, ...Object.fromEntries(merged) };
}

const isRecord = (it: unknown): it is Record<string, unknown> =>
  typeof it === 'object' && it !== null && !Array.isArray(it);
const isNamed = (it: unknown): it is { name: string }[] =>
  Array.isArray(it) && it.every((entry) => isRecord(entry) && 'name' in entry);

function template(path: string, objects: readonly BuiltObject[]): string {
  const texts = objects.map(({ object }) => {
    const id = `${object.kind}/${object.metadata.name}`;
    return LINES.filter(([of]) => of.test(id)).reduce(
      (text, [, line, replacement]) => {
        if (!line.test(text)) throw new Error(`${path}: ${id} has no line ${line}`);
        return text.replace(line, replacement);
      },
      stringify(object, { aliasDuplicateObjects: false }),
    );
  });
  const text = texts.join('---\n');
  const condition = CONDITIONS[path];
  return `{{- /* ${HEADER} */ -}}\n${condition ? `{{- if ${condition} }}\n${text}{{- end }}\n` : text}`;
}

/** The ConfigMap with the settings of all services. Fixed settings, which the objects need, win over those of the values. */
const settingsTemplate = (fixed: object) => `\
{{- /* ${HEADER} */ -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: gatehouse-settings
  namespace: {{ .Release.Namespace }}
  labels:
    app.kubernetes.io/part-of: gatehouse
data:
  {{- merge (fromJson \`${JSON.stringify(fixed)}\`) .Values.settings | toYaml | nindent 2 }}
`;

/** The schema of the values: settings follow their declarations, and other values the types of their defaults. */
function valuesSchema(services: readonly DeployedService[], fixed: readonly string[]) {
  const settings = sharedSettings(services)
    .map(({ setting }) => setting)
    .filter(({ name, isSecret }) => !isSecret && !fixed.includes(name))
    .map(({ name, description, type }) => [
      name,
      { type: 'string', description: `${description} (${type})` },
    ]);
  const { properties } = schemaOf(parseDocument(readFileSync(join(ROOT, VALUES), 'utf8')).contents);
  const all = { ...Object.fromEntries(settings), NATS_ADDRESS: { type: 'string' } };
  return closed({ ...properties, settings: closed(all) });
}

const closed = (properties: object) => ({ type: 'object', properties, additionalProperties: false });

/** A map in braces may have other fields than its default. */
function schemaOf(node: unknown): { type: string; properties?: object } {
  if (isMap(node) && !node.flow)
    return closed(Object.fromEntries(node.items.map(({ key, value }) => [String(key), schemaOf(value)])));
  if (isMap(node)) return { type: 'object' };
  const type = typeof (node as Scalar).value;
  return { type: type === 'number' ? 'integer' : type };
}

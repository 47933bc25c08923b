import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Test } from 'tap';
import { parseAllDocuments } from 'yaml';
import { temporaryDir } from './gatehouse.ts';
import type { KubernetesObject } from './network-policies.ts';

const KUBERNETES = resolve(import.meta.dirname, '../../kubernetes');
/** Whether a program is there, by a command that it understands. */
export const isThere = (program: string, ...args: string[]): boolean => spawnSync(program, args).status === 0;
const kustomize = [['kustomize', 'version'] as const, ['kubectl', 'version', '--client'] as const].find(
  ([program, ...args]) => isThere(program, ...args),
)?.[0];
const hasSchemas = isThere('kubernetes-validate', '--version');

/** For tests that render objects: the reason to leave them out. */
export const skip = kustomize === undefined && 'neither kustomize nor kubectl is there';

/** The objects of a directory of deploy/kubernetes. */
export function render(directory: string): KubernetesObject[] {
  const path = join(KUBERNETES, directory);
  return parseObjects(execFileSync(kustomize ?? '', [kustomize === 'kubectl' ? 'kustomize' : 'build', path]));
}

/** The objects in YAML. */
export const parseObjects = (yaml: Buffer): KubernetesObject[] =>
  // The parser's types end here: the objects are what the schemas say. A document may be empty.
  parseAllDocuments(yaml.toString()).flatMap((it) => (it.toJS() ?? []) as KubernetesObject);

/** Validates the objects against the schemas of Kubernetes. */
export function holdToSchemas(t: Test, objects: readonly KubernetesObject[]): void {
  t.test(
    'the schemas of Kubernetes',
    { skip: !hasSchemas && 'kubernetes-validate is not there' },
    async (t) => {
      const file = join(temporaryDir(t), 'objects.yaml');
      // The schemas of the Gateway API, the Prometheus Operator and the External Secrets Operator are not among them.
      const foreign = /^(?:gateway\.networking\.k8s\.io|monitoring\.coreos\.com|external-secrets\.io)\//;
      const known = objects.filter(({ apiVersion }) => !foreign.test(apiVersion));
      writeFileSync(file, known.map((it) => JSON.stringify(it)).join('\n---\n'));
      const { status, stdout, stderr } = spawnSync('kubernetes-validate', ['--strict', '--quiet', file]);
      t.equal(`${status} ${stdout}${stderr}`, '0 ');
    },
  );
}

import { completeFiles, writeFiles } from '../generated-files.ts';
import { caddyRoutes } from './caddy.ts';
import { composeServices } from './compose.ts';
import { environmentExample } from './environment.ts';
import { helmChart } from './helm.ts';
import { kubernetesManifests } from './kubernetes.ts';
import { natsConfiguration } from './nats.ts';
import { observabilityFiles } from './observability.ts';
import { readDeployedServices } from './services.ts';

/** `npm run deployment` writes what these make of the services. */
const TARGETS = [
  ...[caddyRoutes, composeServices, environmentExample, kubernetesManifests, natsConfiguration],
  ...[observabilityFiles, helmChart],
];

/** The files of the deployment that depend on the services, by their paths in the repository, as they should be. */
export async function deploymentFiles(): Promise<Record<string, string>> {
  const services = await readDeployedServices();
  return completeFiles(TARGETS.flatMap((target) => target(services)));
}

if (import.meta.main) await writeFiles(await deploymentFiles());

import type { GeneratedText } from '../generated-files.ts';
import type { DeployedService } from './services.ts';

/** What Prometheus has to know of the services: where they are, and that each has to be there. */
export function observabilityFiles(services: readonly DeployedService[]): GeneratedText[] {
  const names = services.map(({ name }) => name);
  const isDown = [
    'max by (service) (gatehouse_ready) == 0',
    ...names.map((name) => `absent(gatehouse_ready{service="${name}"})`),
  ];
  return [
    { path: 'prometheus.yml', text: `        names: [${names.join(', ')}]\n` },
    { path: 'rules.yml', text: `        expr: |\n          ${isDown.join('\n          or ')}\n` },
  ].map(({ path, text }) => ({ path: `deploy/observability/${path}`, part: 'services', text }));
}

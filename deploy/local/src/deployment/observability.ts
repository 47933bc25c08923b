import type { GeneratedText } from '../generated-files.ts';
import type { DeployedService } from './services.ts';

/** The configuration of Prometheus that depends on the services: their addresses, and the alert for missing ones. */
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

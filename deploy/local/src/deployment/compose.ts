import type { Setting } from '@gatehouse/core/config';
import type { ServiceName } from '@gatehouse/core/services';
import { mongodbUriSetting, natsUrlSetting, serviceUrlSetting } from '@gatehouse/server/service-settings';
import type { GeneratedText } from '../generated-files.ts';
import { type DeployedService, isOfAssertions, natsPasswordVariable, sharedSettings } from './services.ts';

/** The settings that x-service-environment of docker-compose.yml has, in the lines that are not written by this. */
export const FIXED: readonly string[] = [
  'PUBLIC_URL',
  'HOST',
  'PORT',
  'MANAGEMENT_PORT',
  'TRUSTED_PROXIES',
  'SHUTDOWN_DELAY_SECONDS',
  'DRAIN_SECONDS',
];

/** The service that builds or pulls the image of all. */
const BUILDER: ServiceName = 'identity';

/** The parts of docker-compose.yml that depend on the services. */
export function composeServices(services: readonly DeployedService[]): GeneratedText[] {
  const common = sharedSettings(services).filter(
    ({ services: readers }) => readers.length === services.length,
  );
  const commonNames = new Set(common.map(({ setting }) => setting.name));
  const optional = common.filter(({ setting }) => !FIXED.includes(setting.name));
  const onNats = services.filter(({ usesNats }) => usesNats);
  const uris = services.map(({ name }) => mongodbUriSetting(name).name);
  const passwords = onNats.map(({ name }) => natsPasswordVariable(name));
  const networks = services.map(({ name }) => dataNetwork(name));
  const environment = `\
x-service-settings: &service-settings
  <<: *service-environment
${lines(optional.map(({ setting }) => `  ${setting.name}: ${variable(setting)}`))}
# MongoDB creates its users from these (deploy/docker/mongo-init.js).
x-mongodb-uris: &mongodb-uris
${lines(uris.map((name) => `  ${name}: \${${name}}`))}
# Quoted, because the configuration reads them as values, and 12e34 would be a number.
x-nats-passwords: &nats-passwords
${lines(passwords.map((name) => `  ${name}: '"\${${name}}"'`))}
x-service-names: &service-names
${lines(services.map(({ name }) => `  - ${name}`))}
x-mongo-networks: &mongo-networks
${lines([...networks, 'monitoring'].map((name) => `  - ${name}`))}
# On these networks, the host name nats resolves to every NATS server.
x-nats-networks: &nats-networks
${lines(onNats.map(({ name }) => `  ${dataNetwork(name)}: { aliases: [nats] }`))}\
`;
  return [
    { part: 'environment', text: environment },
    { part: 'services', text: services.map((service) => serviceBlock(service, commonNames)).join('\n') },
    { part: 'networks', text: lines(networks.map((name) => `  ${name}:\n    internal: true`)) },
  ].map((part) => ({ path: 'docker-compose.yml', ...part }));
}

/** Whether docker-compose.yml takes the setting from .env. */
export function isFromEnv(setting: Setting<unknown>, services: readonly DeployedService[]): boolean {
  const isFixed = FIXED.includes(setting.name) || isOfAssertions(setting);
  return !isFixed && services.every((service) => addressIn(setting.name, service) === undefined);
}

/** The value of a setting that says where the service reaches another, or NATS; undefined for other settings. */
function addressIn(name: string, service: DeployedService): string | undefined {
  if (name === natsUrlSetting.name) {
    return `nats://${service.name}:${required(natsPasswordVariable(service.name))}@nats:4222`;
  }
  const callee = service.calls.find((other) => serviceUrlSetting(other).name === name);
  return callee && `http://${callee}:3000`;
}

function serviceBlock(service: DeployedService, commonNames: ReadonlySet<string>): string {
  const { name, settings, process } = service;
  const command = ['node', ...(process?.options ?? []), `services/${name}/src/service.ts`];
  const forNode = Object.entries(process?.environment ?? {}).map(([key, value]) => `${key}: "${value}"`);
  const own = settings
    .filter((setting) => !commonNames.has(setting.name) && !isOfAssertions(setting))
    .map((setting) => `${setting.name}: ${addressIn(setting.name, service) ?? variable(setting)}`);
  return `\
  ${name}:
    <<: ${name === BUILDER ? '[*image, *service]' : '*service'}
${process === undefined ? '' : comment(process.reason, '    ')}\
    command: [${command.join(', ')}]
    environment:
      <<: *service-settings
${lines([...forNode, ...own].map((entry) => `      ${entry}`))}\
    networks: [edge, ${dataNetwork(name)}]
`;
}

const lines = (texts: readonly string[]) => texts.map((text) => `${text}\n`).join('');
const dataNetwork = (service: string) => `${service}-data`;

function variable({ name, fallback }: Setting<unknown>): string {
  return fallback === undefined ? required(name) : `\${${name}:-}`;
}

function required(name: string): string {
  const hint =
    'Add it as deploy/docker/.env.example shows, or run deploy/docker/make-env.sh to write a new .env.';
  return `\${${name}:?${name} is missing in .env. ${hint}}`;
}

/** The text as comments of at most 120 characters, each behind the indent. */
export function comment(text: string, indent = ''): string {
  const lines = new RegExp(`(.{1,${118 - indent.length}})(?:\\s+|$)`, 'g');
  return text.replaceAll(lines, `${indent}# $1\n`);
}

import type { Setting } from '@gatehouse/core/config';
import { SERVICE_NAMES, SERVICES, type ServiceEntry, type ServiceName } from '@gatehouse/core/services';
import { natsUrlSetting, serviceUrlSetting } from '@gatehouse/server/service-settings';
import { loadPrograms } from '../services.ts';

/**
 * The description of a service for deployments: its entry in the table of services, and what its settings say. Each has a
 * database of its own.
 */
export type DeployedService = ServiceEntry & {
  name: ServiceName;
  /** The settings that its process reads, each once. A setting without a `fallback` is required. */
  settings: readonly Setting<unknown>[];
  /** The services that it sends requests to: those whose URLs are among its settings. */
  calls: readonly ServiceName[];
  /** Whether it has an account at NATS, which has its name. */
  usesNats: boolean;
};

/** The services of the table with the settings of their programs. */
export async function readDeployedServices(): Promise<DeployedService[]> {
  const programs = await loadPrograms();
  return programs.map(({ name, settings: schema }) => {
    // The same setting may stand in a schema twice, as a service's URL does.
    const settings = new Map(Object.values(schema).map((setting) => [setting.name, setting]));
    return {
      ...SERVICES[name],
      name,
      settings: [...settings.values()],
      calls: SERVICE_NAMES.filter((other) => settings.has(serviceUrlSetting(other).name)),
      usesNats: settings.has(natsUrlSetting.name),
    };
  });
}

/** A setting, and the names of the services that read it. */
export type SharedSetting = { setting: Setting<unknown>; services: ServiceName[] };

/** Every setting of the services, each once. Throws when two services describe one differently. */
export function sharedSettings(services: readonly DeployedService[]): SharedSetting[] {
  const shared = new Map<string, SharedSetting>();
  for (const { name: service, settings } of services) {
    for (const setting of settings) {
      const found = shared.get(setting.name) ?? { setting, services: [] };
      if (found.setting.description !== setting.description || found.setting.type !== setting.type) {
        throw new Error(`${setting.name} is described in two ways, one of them by ${service}`);
      }
      found.services.push(service);
      shared.set(setting.name, found);
    }
  }
  return [...shared.values()];
}

/** Whether the setting is of the tokens that processes have in Kubernetes; elsewhere they have secrets. */
export const isOfAssertions = ({ name }: Setting<unknown>): boolean => name.includes('_CLIENT_ASSERTION_');

/** The variable with the password of a service at NATS. */
export const natsPasswordVariable = (service: string): string => `${service.toUpperCase()}_NATS_PASSWORD`;

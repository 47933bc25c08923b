import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { SettingsError } from '@gatehouse/core/config';
import type { Logger } from '@gatehouse/core/logger';
import type { KeyList } from '@gatehouse/core/sealing';
import {
  CLIENT_SERVICES,
  clientSecretSetting,
  SERVICE_NAMES,
  type ServiceName,
} from '@gatehouse/core/services';
import type { program as dashboard } from '@gatehouse/dashboard';
import type { Broadcast } from '@gatehouse/events/broadcast';
import type { EventTransport } from '@gatehouse/events/local-events';
import type { program as identity } from '@gatehouse/identity';
import type { program as notifications } from '@gatehouse/notifications';
import type { ServiceProgram } from '@gatehouse/server/process';
import type { Service } from '@gatehouse/server/service';
import { mongodbUriSetting, natsUrlSetting, serviceUrlSetting } from '@gatehouse/server/service-settings';
import type { program as users } from '@gatehouse/users';
import { OUTBOX_DIRECTORY } from './data-dir.ts';
import { databaseUri } from './database-uri.ts';
import type { Demo } from './demo.ts';
import { firstApplications } from './first-applications.ts';
import type { LocalSettings } from './settings.ts';

/** The configuration that all services have in common. */
type CommonConfig = { mongodbUri: string };
type Dependencies = { broadcast: Broadcast; events: EventTransport };
export type Program = ServiceProgram<CommonConfig, CommonConfig, Dependencies> & { name: ServiceName };
type ConfigOf<P extends { create(config: never, logger: Logger): Service }> = Parameters<P['create']>[0];

/** The configurations of services that get more here than settings can say. */
type Configs = Record<ServiceName, CommonConfig> & {
  identity: ConfigOf<typeof identity>;
  users: ConfigOf<typeof users>;
  notifications: ConfigOf<typeof notifications>;
  dashboard: ConfigOf<typeof dashboard>;
};

/** The defaults of settings of services that differ from those of a deployment. */
export const LOCAL_DEFAULTS = {
  IDENTITY_SIGN_UP: 'on',
  IDENTITY_PROVIDER_NETWORKS: '127.0.0.0/8,::1',
  IDENTITY_CLIENT_METADATA: 'on',
  IDENTITY_CLIENT_METADATA_NETWORKS: '127.0.0.0/8,::1',
  IDENTITY_OPEN_REGISTRATION: 'on',
  IDENTITY_RESOURCE_NETWORKS: '127.0.0.0/8,::1',
  IDENTITY_SHARED_SIGNALS_NETWORKS: '127.0.0.0/8,::1',
  IDENTITY_TRUSTED_ISSUER_NETWORKS: '127.0.0.0/8,::1',
  USERS_HASH_CONCURRENCY: '2',
  NOTIFICATIONS_SLOTS: '4',
  NOTIFICATIONS_WEBHOOK_NETWORKS: '127.0.0.0/8,::1',
  NOTIFICATIONS_WEBHOOK_SLOTS: '64',
  DASHBOARD_IDLE_SECONDS: '43200',
  DASHBOARD_SESSION_SECONDS: '604800',
};

/**
 * The programs of all services, in the order of the table, which is that of their start: identity comes first, because the
 * others request tokens and revocations from it.
 */
export function loadPrograms(): Promise<Program[]> {
  const load = async (name: ServiceName) =>
    ((await import(`../../../services/${name}/src/service.ts`)) as { program: Program }).program;
  return Promise.all(SERVICE_NAMES.map(load));
}

/**
 * Reads the settings of all services from `env`, as processes of their own would: what leads to another process there leads to
 * this one. Throws a SettingsError. `create` makes the services, once there is a database.
 *
 * @param options.ownUrl the URL of this process, for requests between the services
 */
export async function prepareServices(options: {
  settings: Pick<LocalSettings, 'publicUrl' | 'dataDir'>;
  env: NodeJS.ProcessEnv;
  ownUrl: string;
  masterKeys: KeyList;
  demo: Demo;
  logger: Logger;
}) {
  const { settings, demo, logger } = options;
  const programs = await loadPrograms();
  const configs = readConfigs(programs, environment(options));
  const outbox = { directory: join(settings.dataDir, OUTBOX_DIRECTORY) };
  const { mail } = configs.identity;
  const { sending } = configs.notifications;
  const { email, sms, push } = sending.providers;
  const all: Configs = {
    ...configs,
    identity: {
      ...configs.identity,
      mail: mail ?? { ...outbox, onLink: showLink(logger) },
      firstApplications: firstApplications(demo),
    },
    users: { ...configs.users, firstUsers: firstUsers(demo) },
    notifications: {
      ...configs.notifications,
      sending: { ...sending, providers: { ...sending.providers, capture: outbox } },
    },
    dashboard: { ...configs.dashboard, sampleData: true },
  };
  return {
    /** The kinds of messages, and whether they are sent instead of being kept. */
    isSent: {
      'mails about accounts': mail !== undefined,
      'mails of notifications': email !== undefined,
      SMS: sms !== undefined,
      pushes: push !== undefined,
    },
    create: (mongoUri: string, dependencies: Dependencies): Service[] =>
      programs.map(({ name, create }) => {
        const config = { ...all[name], mongodbUri: databaseUri(mongoUri, name) };
        return create(config, logger, dependencies);
      }),
  };
}

/** The settings of all services. Secrets are used only within this process, so each start generates new ones. */
function environment(options: {
  settings: Pick<LocalSettings, 'publicUrl'>;
  env: NodeJS.ProcessEnv;
  ownUrl: string;
  masterKeys: KeyList;
}): NodeJS.ProcessEnv {
  const { settings, env, ownUrl, masterKeys } = options;
  const given = Object.entries(env).filter(([, value]) => value !== '');
  const keys = masterKeys.map((key) => key.toString('hex')).join();
  const secrets = CLIENT_SERVICES.map((name) => [
    clientSecretSetting(name),
    randomBytes(32).toString('base64url'),
  ]);
  const own = {
    PUBLIC_URL: settings.publicUrl,
    IDENTITY_MASTER_KEY: keys,
    DASHBOARD_MASTER_KEY: keys,
    NOTIFICATIONS_MASTER_KEY: keys,
    // Required, and not used: events stay within this process, and the database is started later.
    [natsUrlSetting.name]: 'nats://localhost',
    ...Object.fromEntries(SERVICE_NAMES.map((name) => [mongodbUriSetting(name).name, 'mongodb://localhost'])),
    ...Object.fromEntries(SERVICE_NAMES.map((name) => [serviceUrlSetting(name).name, ownUrl])),
    ...Object.fromEntries(secrets),
  };
  // A file with another value would exclude it.
  const files = Object.keys(own).map((name) => [`${name}_FILE`, '']);
  return { ...LOCAL_DEFAULTS, ...Object.fromEntries(given), ...own, ...Object.fromEntries(files) };
}

/** The configurations by service. Throws one SettingsError for all that is wrong. */
function readConfigs(programs: readonly Program[], env: NodeJS.ProcessEnv): Configs {
  const problems = new Set<string>();
  const configs: Record<string, CommonConfig> = {};
  for (const { name, readConfig } of programs) {
    try {
      configs[name] = readConfig(env);
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      for (const problem of error.message.split('\n')) problems.add(problem);
    }
  }
  if (problems.size > 0) throw new SettingsError([...problems]);
  return configs as Configs;
}

function firstUsers(demo: Demo) {
  const account = (who: 'admin' | 'user') => {
    const { user_id: id, username, password } = demo[who];
    return { id, username, password, email: `${username}@example.com`, role: who };
  };
  return [account('admin'), account('user')];
}

/** Prints links to a terminal only: readers of a log file could use them. The log says where the mail is. */
function showLink(logger: Logger) {
  return ({ to, link, file }: { to: string; link: string; file: string }): void => {
    if (process.stdout.isTTY) process.stdout.write(`\n  Mail to ${to}: ${link}\n\n`);
    else logger.info({ file }, 'a mail with a link is kept in a file');
  };
}

import { type Setting, SettingsError } from '@gatehouse/core/config';
import { createLogger, type Logger } from '@gatehouse/core/logger';
import { type Running, run } from './run.ts';
import type { Service } from './service.ts';
import type { ServerConfig } from './service-settings.ts';
import { startTracing } from './tracing/start-tracing.ts';
import type { TracingSettings } from './tracing/tracing-settings.ts';

/** The argument of a service's process that makes it migrate instead of serving. */
export const MIGRATE = 'migrate';

/** A service as a program, which is what its service.ts exports as `program`, and runs when it is the script of a process. */
export type ServiceProgram<Config, Values extends Config, Dependencies = unknown> = {
  name: string;
  /** Everything that `readConfig` reads, for documents and deployments. */
  settings: Readonly<Record<string, Setting<unknown>>>;
  /** Throws a SettingsError. */
  readConfig(env: NodeJS.ProcessEnv): Values;
  create(config: Config, logger: Logger, dependencies?: Dependencies): Service;
};

/**
 * The process of one service: reads the settings, serves, and ends on a signal.
 * Exit status 1 with one sentence for each wrong setting, for a port that cannot be had, or for a service
 * that can never start; a database that is away is waited for. With the argument `migrate` it migrates the database of the
 * service, and ends without serving.
 */
export async function runProcess<C, V extends C & ServerConfig & TracingSettings>({
  name,
  readConfig,
  create,
}: ServiceProgram<C, V>): Promise<void> {
  const [command] = process.argv.slice(2);
  if (command !== undefined && command !== MIGRATE) {
    process.stderr.write(`There is no command ${command}: the only one is ${MIGRATE}.\n`);
    process.exit(1);
  }
  const config = readOrExit(readConfig);
  const logger = createLogger({ name, level: config.logLevel, traced: config.otlpEndpoint !== undefined });
  exitOnFault(logger);
  let running: Running | undefined;
  try {
    // OpenTelemetry has to be there before what it records is made.
    const stopTracing = await startTracing(config, `gatehouse-${name}`, logger);
    const service = create(config, logger);
    if (command === MIGRATE) {
      await service.migrate?.();
      await stopTracing();
      logger.info('the database is up to date');
      process.exit(0);
    }
    running = await run([service], { ...config, logger, requireHttps: true });
    stopOnSignal(running, logger, stopTracing);
    logger.info({ management_port: running.managementPort }, 'starting');
    await running.started;
    logger.info({ port: running.port }, 'listening');
  } catch (error) {
    // A start that was broken off by a signal has not failed.
    if (running?.stopping === true) return;
    logger.fatal({ err: error }, 'cannot start');
    process.exit(1);
  }
}

/**
 * Stops and exits with status 0 on SIGINT, SIGTERM and SIGHUP; `after` runs when everything has stopped. A
 * terminal's Ctrl-C can arrive twice within moments (from the terminal and through npm): only one that comes a
 * second later forces the end, with status 1.
 */
export function stopOnSignal(
  running: Running,
  logger: Logger,
  after: () => Promise<void> | undefined = async () => {},
): void {
  let since: number | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    if (since !== undefined) {
      if (performance.now() - since > 1000) process.exit(1);
      return;
    }
    since = performance.now();
    logger.info({ signal }, 'stopping');
    running
      .stop()
      .then(after)
      .then(
        () => process.exit(0),
        (error: unknown) => {
          logger.fatal({ err: error }, 'did not stop cleanly');
          process.exit(1);
        },
      );
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
}

/** After an uncaught fault the state is unknown: logs it and ends the process, for its supervisor to restart. */
export function exitOnFault(logger: Logger): void {
  const onFault = (error: unknown) => {
    logger.fatal({ err: error }, 'fault');
    process.exit(1);
  };
  process.on('uncaughtException', onFault);
  process.on('unhandledRejection', onFault);
}

/** Reads the settings. When some are wrong, prints a sentence for each and exits with status 1. */
export function readOrExit<C>(readConfig: (env: NodeJS.ProcessEnv) => C): C {
  try {
    return readConfig(process.env);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}

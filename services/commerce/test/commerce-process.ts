import { readFileSync } from 'node:fs';
import { freePort, spawnService } from '@gatehouse/testing/processes';
import type { TestIssuer } from '@gatehouse/testing/test-issuer';

const MAIN = new URL('../src/service.ts', import.meta.url).pathname;

export type CommerceProcess = {
  pid: number;
  base: string;
  /** Resolves when the process has ended, of itself or by kill(). */
  ended: Promise<unknown>;
  kill(signal?: NodeJS.Signals): Promise<unknown>;
  /** All it has logged. */
  output(): string;
};

/**
 * Starts commerce as a process of its own, on the port given, and waits until it is ready. There is no NATS: it polls for
 * revocations, and keeps its events.
 *
 * @param options.script what is run instead of service.ts, with its arguments
 */
export async function startCommerce(
  t: { teardown(action: () => unknown): void },
  options: { issuer: TestIssuer; mongodbUri: string; port?: number; script?: readonly string[] },
): Promise<CommerceProcess> {
  const { issuer, mongodbUri, port = await freePort(), script = [MAIN] } = options;
  const { child, ended, output, ready } = await spawnService(script, {
    PORT: String(port),
    HOST: '127.0.0.1',
    PUBLIC_URL: issuer.issuer,
    IDENTITY_URL: issuer.issuer,
    USERS_URL: issuer.issuer,
    COMMERCE_MAX_PENDING_ORDERS: '10000',
    COMMERCE_CLIENT_SECRET: issuer.client.secret,
    COMMERCE_MONGODB_URI: mongodbUri,
    NATS_URL: `nats://127.0.0.1:${await freePort()}`,
    TRUSTED_PROXIES: '127.0.0.1',
    RATE_LIMIT: 'off',
  });
  const kill = (signal: NodeJS.Signals = 'SIGKILL') => {
    child.kill(signal);
    return ended;
  };
  t.teardown(() => kill());
  const base = `http://127.0.0.1:${port}`;
  await ready(30_000);
  return { pid: child.pid ?? 0, base, ended, kill, output };
}

/** The memory that a process has in use, in MB. */
export function megabytesOf({ pid }: { pid: number }): number {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1000;
}

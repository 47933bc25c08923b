import { NOTIFICATION_TYPES } from '@gatehouse/domain/notification-fields';

export const INTEGRATION_KINDS = [...NOTIFICATION_TYPES, 'queue', 'database', 'metrics'] as const;
export type IntegrationKind = (typeof INTEGRATION_KINDS)[number];

/** Something outside the code of this service that it works with. */
export type Integration = {
  id: string;
  kind: IntegrationKind;
  /** Its name, such as `SMTP`; never an address or a credential. */
  name: string;
  /** Resolves when it works; undefined if it is not configured. */
  check?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
  /** The message for an error of the check: only that of the error itself if it is known to hold no secret. */
  explain?: (error: unknown) => string | undefined;
};

export type IntegrationState = Pick<Integration, 'id' | 'kind' | 'name'> & {
  configured: boolean;
  status: 'ok' | 'error' | 'unconfigured';
  /** Null if there is nothing to check. */
  checkedAt: Date | null;
  message?: string;
};

const TIMEOUT_MS = 5000;
const KEPT_MS = 30_000;

/**
 * The states of integrations. An integration is checked on request, unless its last check is less than 30 seconds old. Requests of the same
 * moment share a check, and it fails after 5 seconds.
 */
export function createIntegrationStates(
  integrations: readonly Integration[],
  options: { now?: () => number; timeoutMs?: number } = {},
): () => Promise<IntegrationState[]> {
  const { now = Date.now, timeoutMs = TIMEOUT_MS } = options;
  const states = new Map<Integration, { until: number; state: Promise<IntegrationState> }>();

  async function check(integration: Integration): Promise<IntegrationState> {
    const { id, kind, name, explain } = integration;
    if (integration.check === undefined) {
      return { id, kind, name, configured: false, status: 'unconfigured', checkedAt: null };
    }
    const signal = AbortSignal.timeout(timeoutMs);
    const late = new Promise<never>((_resolve, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason)),
    );
    // It also comes after a check that was in time.
    late.catch(() => {});
    const checked = { id, kind, name, configured: true, checkedAt: new Date(now()) };
    try {
      await Promise.race([integration.check(signal), late]);
      return { ...checked, status: 'ok' };
    } catch (error) {
      const message = signal.aborted ? 'It does not answer in time.' : explain?.(error);
      return { ...checked, status: 'error', message: message ?? 'It cannot be used at the moment.' };
    }
  }

  function stateOf(integration: Integration): Promise<IntegrationState> {
    const known = states.get(integration);
    if (known !== undefined && now() < known.until) return known.state;
    const entry = { until: Number.POSITIVE_INFINITY, state: check(integration) };
    states.set(integration, entry);
    return entry.state.finally(() => {
      entry.until = now() + KEPT_MS;
    });
  }

  return () => Promise.all(integrations.map(stateOf));
}

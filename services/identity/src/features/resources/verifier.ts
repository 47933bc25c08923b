/** The description that the process of a verifier gives of itself. */
export type VerifierDescription = {
  /** Random, one for each process. */
  id: string;
  language: string;
  version: string;
  /** The policy for tokens while the feed is silent. */
  stale: string;
};

/** The requests that a verifier has verified since its start: accepted by the kind of caller, and refused by error. */
export type RequestCounts = {
  person: number;
  machine: number;
  key: number;
  refused: readonly { status: number; error: string; count: number }[];
};

const AGENT = /^gatehouse-verify-(node|python|go)\/(\d[\w.+-]{0,31})$/;
export const VERIFIER_ID = /^[\w-]{8,64}$/;
const DESCRIPTION = /^id=([\w-]{8,64}); ?stale=(introspect|refuse|accept)$/;
const TEST = 'revocation-test-';

/** The verifier that makes a request; undefined for another program, and for headers that are malformed. */
export function verifierOf(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): VerifierDescription | undefined {
  const [, language, version] = AGENT.exec(String(headers['user-agent'])) ?? [];
  const [, id, stale] = DESCRIPTION.exec(String(headers['x-gatehouse-verifier'])) ?? [];
  if (!language || !version || !id || !stale) return undefined;
  return { id, language, version, stale };
}

/** The `jti` of a test, which no token has. */
export const newTestId = () => TEST + crypto.randomUUID();
export const isTest = (id: string) => id.startsWith(TEST);

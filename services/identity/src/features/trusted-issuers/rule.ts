import type { FederatedCredential, RuleValue } from '../../core/applications/application.ts';

/** The part of a federated credential that tokens are compared with. */
export type Rule = Pick<FederatedCredential, 'issuer' | 'subject' | 'audience' | 'claims'>;
/** The first claim of a token that is not as a rule wants it. */
export type Difference = { claim: string; expected: RuleValue; actual: unknown };

/** At least one whole segment, and the `:` or `/` after it. */
const PREFIX = /^[^*]*[^*:/][:/]\*$/;

/**
 * The first claim that keeps a token from matching a rule; undefined if it matches. Values are compared with their types and case. A text that ends with
 * `*` is a prefix, after which something must follow.
 *
 * @param audiences those that a rule without an audience accepts
 */
export function findDifference(
  rule: Rule,
  claims: Readonly<Record<string, unknown>>,
  audiences: readonly string[],
): Difference | undefined {
  const accepted = rule.audience === null ? audiences : [rule.audience];
  const audience = onlyOf(claims.aud);
  const wanted: [string, RuleValue][] = [
    ['iss', rule.issuer],
    ['sub', rule.subject],
    ['aud', accepted.find((it) => it === audience) ?? accepted.join(' or ')],
    ...rule.claims.map(([name, value]): [string, RuleValue] => [name, value]),
  ];
  for (const [claim, expected] of wanted) {
    const actual = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
    const isSame = claim === 'aud' ? audience === expected : isMatch(expected, actual);
    if (!isSame) return { claim, expected, actual };
  }
  return undefined;
}

/** The fault of a text of a rule, as the end of a sentence. */
export function patternProblem(text: string): string | undefined {
  if (!text.includes('*') || PREFIX.test(text)) return undefined;
  return 'may have * only at its end, after a segment and its : or /';
}

function isMatch(expected: RuleValue, actual: unknown): boolean {
  if (typeof expected !== 'string' || !expected.endsWith('*')) return actual === expected;
  const prefix = expected.slice(0, -1);
  return typeof actual === 'string' && actual.length > prefix.length && actual.startsWith(prefix);
}

/** The audience of a token for one; Kubernetes writes that one as a list (RFC 7519 §4.1.3). */
export function onlyOf(audience: unknown): unknown {
  return Array.isArray(audience) && audience.length === 1 ? audience[0] : audience;
}

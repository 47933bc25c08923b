/** Matches lists by the paging parameter that the query has. */
export function matchesQuery(query: Readonly<Record<string, unknown>>) {
  return ({ rules }: { rules: { paging: string } }): boolean => query[rules.paging] !== undefined;
}

/** Matches creations by the form of the body. */
export function matchesBody(body: unknown) {
  return ({ matches }: { matches?(body: object): boolean }): boolean =>
    typeof body === 'object' && body !== null && matches?.(body) === true;
}

/** A profile that serves an operation, and its definition of the operation. */
export type Candidate<T> = { name: string; definition: T };

/** The criteria by which a profile is chosen, in order of precedence. */
type Choice<T> = {
  /** The profile that the caller's application has pinned for the path. It may not serve the operation. */
  pinned: string | undefined;
  /** The profile that issued the cursor in the query. */
  cursorProfile?: string | undefined;
  /** Whether the form of the request matches a profile. */
  matches: (definition: T) => boolean;
  /** The deployment's default for the path. */
  fallback: string | undefined;
};

/**
 * Chooses among the profiles that share a path: the one that the application has pinned, else the one that issued the
 * cursor, else the one that the request matches, else the deployment's default, else the first. If the request matches
 * several, it is the default or the first of them. A name that is not among the candidates is ignored.
 */
export function chooseProfile<T>(candidates: readonly Candidate<T>[], choice: Choice<T>): Candidate<T> {
  const { pinned, cursorProfile, matches, fallback } = choice;
  const named = (name: string | undefined, among = candidates) =>
    among.find((candidate) => candidate.name === name);
  const matching = () => candidates.filter(({ definition }) => matches(definition));
  const preferred = (among: readonly Candidate<T>[]) => named(fallback, among) ?? among[0];
  const chosen =
    named(pinned) ?? named(cursorProfile) ?? preferred(matching()) ?? named(fallback) ?? candidates[0];
  if (chosen === undefined) throw new Error('no profile serves this operation');
  return chosen;
}

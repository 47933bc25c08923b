/** Whether the parameters of a query are those by which a list counts its pages. */
export function fitsQuery(query: Readonly<Record<string, unknown>>) {
  return ({ rules }: { rules: { paging: string } }): boolean => query[rules.paging] !== undefined;
}

/** Whether the body of a creation can only be meant for a profile. */
export function fitsBody(body: unknown) {
  return ({ matches }: { matches?(body: object): boolean }): boolean =>
    typeof body === 'object' && body !== null && matches?.(body) === true;
}

/** A profile that serves an operation, and what it has for it. */
export type Candidate<T> = { name: string; has: T };

/** What a profile is chosen by, from the strongest to the weakest. */
export type Choice<T> = {
  /** The profile that the caller's application has pinned for the path, whatever it is. */
  pinned: string | undefined;
  /** The profile in whose list the cursor of the query was written. */
  cursorProfile?: string | undefined;
  /** Whether the form of the request fits a profile. */
  matches: (has: T) => boolean;
  /** The deployment's default for the path. */
  fallback: string | undefined;
};

/**
 * Which profile answers where several share a path: the one that the application has pinned, else the one that wrote
 * the cursor, else the one that the request fits, else the deployment's default, else the first. Of several that the
 * request fits it is the default or the first of them. A name that serves nothing here is passed over.
 */
export function chooseProfile<T>(candidates: readonly Candidate<T>[], choice: Choice<T>): Candidate<T> {
  const { pinned, cursorProfile, matches, fallback } = choice;
  const named = (name: string | undefined, among = candidates) => among.find((it) => it.name === name);
  const fitting = () => candidates.filter(({ has }) => matches(has));
  const fittest = (among: readonly Candidate<T>[]) => named(fallback, among) ?? among[0];
  const chosen =
    named(pinned) ?? named(cursorProfile) ?? fittest(fitting()) ?? named(fallback) ?? candidates[0];
  if (chosen === undefined) throw new Error('no profile serves this operation');
  return chosen;
}

/** The parties that act for the subject of a token, nested: the latest is the outermost (RFC 8693 §4.1). */
export type Act = { sub: string; act?: Act };

/** The claim for these, the latest first. Undefined without any. */
export function actOf(actors: readonly string[] = []): Act | undefined {
  return actors.reduceRight<Act | undefined>(
    (act, sub) => (act === undefined ? { sub } : { sub, act }),
    undefined,
  );
}

/** The deprecated form of filters is supported until `sunset`. */
export type Deprecation = { sunset: Date };

export const GUIDE_PATH = '/guides/filters';

/** When the form of filters without brackets was deprecated. */
const DEPRECATED_AT = new Date('2025-07-10T00:00:00Z');

/** The headers of a response to a request with a deprecated filter (RFC 9745 §2, RFC 8594 §3). */
export function deprecationHeaders({ sunset }: Deprecation): Record<string, string> {
  return {
    deprecation: `@${DEPRECATED_AT.getTime() / 1000}`,
    sunset: sunset.toUTCString(),
    link: `<${GUIDE_PATH}>; rel="deprecation"; type="text/markdown"`,
  };
}

type WebRequest = { method: string; url: string; headers: { get(name: string): string | null } };
type NodeRequest = {
  method?: string | undefined;
  url?: string | undefined;
  /** Express's: the path before a router has taken away its own. */
  originalUrl?: string | undefined;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  rawHeaders?: readonly string[] | undefined;
  socket?: object | null | undefined;
};
/** A web Request, or Node's IncomingMessage as it is or as a framework extends it. */
export type VerifiableRequest = WebRequest | NodeRequest;

export type ReadRequest = {
  authorization: string | undefined;
  proof: string | undefined;
  method: string;
  /** The URLs that a DPoP proof of the request may be for. */
  urls(): string[];
};

/** The options that decide which origins are those of the API. */
export type OriginOptions = {
  audience: string;
  origins?: readonly string[] | undefined;
  trustProxy?: boolean | undefined;
};

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** The parts of a request that identify its caller. Throws when it has more than one Authorization header. */
export function readRequest(
  request: VerifiableRequest,
  { audience, origins = [], trustProxy = false }: OriginOptions,
): ReadRequest {
  const web = isWeb(request) ? request : undefined;
  const node = isWeb(request) ? undefined : request;
  const header = (name: string) => web?.headers.get(name) ?? node?.headers[name]?.toString();
  const forwarded = (name: string) => (trustProxy ? header(name)?.split(',')[0]?.trim() : undefined);
  return {
    // Node keeps the first of several.
    authorization: countAuthorization(node?.rawHeaders) > 1 ? '' : header('authorization'),
    proof: header('dpop'),
    method: request.method ?? '',
    urls() {
      const { encrypted = false } = Object(node?.socket) as { encrypted?: boolean };
      const url = web === undefined ? undefined : new URL(web.url);
      const scheme = url?.protocol.slice(0, -1) ?? (encrypted ? 'https' : 'http');
      const host = url?.host ?? node?.headers[':authority']?.toString() ?? header('host');
      const path = url?.pathname ?? pathOf(node?.originalUrl ?? node?.url ?? '');
      const requested = `${forwarded('x-forwarded-proto') ?? scheme}://${forwarded('x-forwarded-host') ?? host}`;
      // A sender chooses the Host header: one who got a proof for another host could name that host here.
      const isOwn = URL.canParse(requested) && (trustProxy || LOOPBACK.has(new URL(requested).hostname));
      const own = origins.length > 0 ? origins : [audience, ...(isOwn ? [requested] : [])];
      return own.map((it) => new URL(it).origin + path);
    },
  };
}

function countAuthorization(rawHeaders: readonly string[] = []): number {
  const { length } = 'authorization';
  let count = 0;
  // Names and values take turns.
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === length && name.toLowerCase() === 'authorization') count += 1;
  }
  return count;
}

/** The path of a request target (RFC 9112 §3.2), whose host, if it has one, is not to be believed. */
function pathOf(target: string): string {
  if (target.startsWith('/')) return target;
  return URL.canParse(target) ? new URL(target).pathname : '/';
}

function isWeb(request: VerifiableRequest): request is WebRequest {
  return typeof request.headers.get === 'function';
}

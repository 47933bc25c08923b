import { readdirSync, readFileSync } from 'node:fs';
import { createCore } from '@gatehouse/verify/core';
import type { VerifyError } from '@gatehouse/verify/errors';
import { createRevocationSet, readRevocation } from '@gatehouse/verify/revocations';
import { createLocalJWKSet } from 'jose';
import t from 'tap';
import type { Vector } from './vectors/signing.ts';

const directory = new URL('../vectors/', import.meta.url);
type File = { issuer: string; jwks: Parameters<typeof createLocalJWKSet>[0]; vectors: Vector[] };

function verifierOf({ issuer, jwks }: File, { options, clock, feed, introspection }: Vector) {
  const now = () => clock;
  const set = createRevocationSet({ now });
  for (const entry of feed.revocations) {
    const revocation = readRevocation({ ...entry, expiresAt: entry.until });
    if (revocation !== undefined) set.add(revocation);
  }
  const credentials = {
    async introspect(token: string) {
      const response = introspection && (token in introspection ? introspection[token] : { active: false });
      if (response === undefined || response === null) throw new Error('not reachable');
      return response;
    },
    feed: {
      isFresh: () => feed.state === 'fresh',
      started: Promise.resolve(),
      behindSeconds: () => 0,
      async close() {},
    },
  };
  return createCore({
    issuer,
    audience: options.audience,
    origins: options.origins,
    staleThen: options.stale?.then ?? 'introspect',
    keys: createLocalJWKSet(jwks),
    set,
    now,
    ...(options.hasCredentials ? { credentials } : {}),
  });
}

type Incoming = Parameters<ReturnType<typeof createCore>['verify']>[0];

/** The request as a web server and as Node give it. */
function requestsOf({ method, url, headers }: Vector['request']): Incoming[] {
  const lines = Object.entries(headers).flatMap(([name, value]) => [value].flat().map((it) => [name, it]));
  const { host, protocol, pathname, search } = new URL(url);
  const node: Record<string, string> = { host };
  // As Node does: the first Authorization header, and others joined.
  for (const [name = '', value = ''] of lines) {
    node[name] =
      name === 'authorization' ? (node[name] ?? value) : [node[name], value].filter(Boolean).join(', ');
  }
  const socket = { encrypted: protocol === 'https:' };
  return [
    new Request(url, { method, headers: lines as [string, string][] }),
    { method, url: pathname + search, headers: node, rawHeaders: ['Host', host, ...lines.flat()], socket },
  ];
}

async function outcome(verified: Promise<object>): Promise<object> {
  try {
    const { claims: _claims, ...caller } = (await verified) as Record<string, unknown>;
    return { caller: JSON.parse(JSON.stringify(caller)) };
  } catch (error) {
    const { status, headers, body } = error as VerifyError;
    return {
      status,
      error: body.error,
      description: body.error_description,
      wwwAuthenticate: headers['www-authenticate'] ?? null,
    };
  }
}

let total = 0;
for (const name of readdirSync(directory)) {
  t.test(name, async (t) => {
    const file: File = JSON.parse(readFileSync(new URL(name, directory), 'utf8'));
    total += file.vectors.length;
    for (const vector of file.vectors) {
      for (const request of requestsOf(vector.request)) {
        const verifier = verifierOf(file, vector);
        if (vector.repeat) await verifier.verify(request, vector.needs);
        t.strictSame(await outcome(verifier.verify(request, vector.needs)), vector.expected, vector.name);
      }
    }
  });
}

t.test('there are enough vectors, each with a name of its own', async (t) => {
  t.ok(total >= 300, `${total}`);
  for (const name of readdirSync(directory)) {
    const { vectors }: File = JSON.parse(readFileSync(new URL(name, directory), 'utf8'));
    t.equal(new Set(vectors.map((vector) => vector.name)).size, vectors.length, name);
  }
});

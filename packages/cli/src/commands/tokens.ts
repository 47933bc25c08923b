import type { Command } from 'commander';
import type { ApiClient } from '../api-client.ts';
import { readRows } from '../collections.ts';
import { CliError, UsageError } from '../errors.ts';
import { jsonOf } from '../output.ts';
import type { Session } from '../session.ts';
import { toObject } from './collections.ts';

const KEY = /^gatehouse_([\w-]{11})/;
const JWT = /^[\w-]+\.([\w-]+)\.[\w-]*$/;
const TIMES = ['iat', 'nbf', 'exp', 'auth_time'];

type Parts = { header: Record<string, unknown>; claims: Record<string, unknown> };

/** The commands about access tokens and API keys, and requests with those of the profile. */
export function addTokens(program: Command, session: Session): void {
  program
    .command('token')
    .description('Show the access token of your sign-in, which is bound to a key (DPoP, RFC 9449).')
    .option('--resource <identifier>', 'for an API of yours, instead of the API of Gatehouse')
    .option('--show', 'print the token itself')
    .action(async ({ resource, show }: { resource?: string; show?: true }) => {
      const { deployment, output } = session();
      const tokens = await (resource === undefined
        ? deployment.credentials()
        : deployment.resourceCredentials(resource));
      const { accessToken, expiresAt } = tokens.credentials;
      const { claims } = decode(accessToken);
      const { aud, scope } = claims;
      const facts = { token_type: 'DPoP', aud, scope, expires_at: new Date(expiresAt).toISOString() };
      const text = show ? accessToken : output.facts(facts);
      output.result(show ? { access_token: accessToken, ...facts } : facts, text);
      if (!show && !output.json) output.note('--show prints the token itself.');
    });

  program
    .command('decode')
    .argument('<token>', 'a JWT, or - to read it from stdin')
    .description('Show what a token says, without verifying it.')
    .action(async (argument: string) => {
      const { output, secretOf } = session();
      const parts = decode(await secretOf(argument));
      const inWords = Object.entries(parts.claims).map(([name, value]) => {
        const isTime = TIMES.includes(name) && typeof value === 'number';
        return [name, isTime ? new Date(value * 1000).toISOString() : value];
      });
      output.result(parts, output.facts({ ...parts.header, ...Object.fromEntries(inWords) }));
      const { exp } = parts.claims;
      if (typeof exp === 'number' && exp * 1000 < Date.now()) output.note('It has expired.');
    });

  program
    .command('revoke')
    .argument(
      '<token>',
      'an access token or refresh token of this program, a login token, or an API key; - reads it from stdin',
    )
    .description('Revoke a token or an API key: it stops working within a second.')
    .action(async (argument: string) => {
      const { deployment, output, secretOf, signIn } = session();
      const token = await secretOf(argument);
      const keyId = KEY.exec(token)?.[1];
      if (keyId !== undefined) await revokeKey(await deployment.api(), keyId);
      else {
        const client = JWT.test(token) ? decode(token).claims.client_id : 'gatehouse-cli';
        const url = await deployment.url();
        if (client === 'gatehouse-login')
          await deployment.apiWith(url, token).request('POST', '/api/v1/auth/logout');
        else if (client === 'gatehouse-cli') await signIn.revoke(url, token);
        else throw new CliError(elsewhere(String(client)));
      }
      output.result(
        { revoked: true },
        keyId === undefined ? 'The token is revoked.' : `The API key ${keyId} is revoked.`,
      );
    });

  program
    .command('api')
    .argument('<method>', 'such as GET')
    .argument('<path>', 'such as /api/v1/items')
    .option('--data <json>', 'the body, as a JSON object')
    .option('--if-match <etag>', 'change it only if it is still the same')
    .description('Make any request of the API, and print the response.')
    .action(async (method: string, path: string, { data, ifMatch }: Record<string, string | undefined>) => {
      const { deployment, output } = session();
      if (!path.startsWith('/')) throw new UsageError(`The path ${path} must begin with a slash.`);
      const sent = data === undefined ? {} : { body: toObject(data) };
      const api = await deployment.api();
      const { body } = await api.request(method.toUpperCase(), path, {
        ...sent,
        ...(ifMatch === undefined ? {} : { ifMatch }),
      });
      if (body !== undefined) output.result(body, jsonOf(body, 2));
    });
}

const elsewhere = (client: string) =>
  `The token is of the application ${client}, which alone can revoke it (RFC 7009 §2.1). ` +
  `\`gatehouse api DELETE /api/v1/consents/${encodeURIComponent(client)}\` ends all that it may do with your account, ` +
  `and \`gatehouse applications delete ${client}\` ends an application of yours.`;

/** The parts of a JWT (RFC 7519 §3). Throws a CliError, which does not quote the token. */
function decode(token: string): Parts {
  try {
    const [header, claims] = token
      .split('.', 2)
      .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()));
    if (JWT.test(token)) return { header, claims };
  } catch {}
  const kind = KEY.test(token) ? 'an API key, which says nothing about itself' : 'no JWT';
  throw new CliError(`This is ${kind}. A JWT has three parts with dots between them.`);
}

async function revokeKey(api: ApiClient, id: string): Promise<void> {
  const { rows } = await readRows(api, '/api/v1/access', { limit: Number.POSITIVE_INFINITY });
  const found = rows.find((row) => row.kind === 'api_key' && row.id === id);
  if (found === undefined) {
    throw new CliError(
      'There is no such API key of yours, or it is revoked already. `gatehouse keys list --application` shows them.',
    );
  }
  const application = encodeURIComponent(String(found.client_id));
  await api.request('DELETE', `/api/v1/applications/${application}/api-keys/${id}`);
}

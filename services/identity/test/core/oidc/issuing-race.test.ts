import { once } from 'node:events';
import { createServer } from 'node:http';
import { SINGLE_FACTOR } from '@gatehouse/tokens/acr';
import { decodeJwt, exportJWK, generateKeyPair } from 'jose';
import { LRUCache } from 'lru-cache';
import t from 'tap';
import type { Account } from '../../../src/core/accounts/account.ts';
import {
  type Application,
  clientSecretOf,
  findSecret,
  newApplication,
} from '../../../src/core/applications/application.ts';
import { createApplicationStore } from '../../../src/core/applications/store/application-store.ts';
import { createOidcStore } from '../../../src/core/oidc/adapter/oidc-adapter.ts';
import { createFindClient } from '../../../src/core/oidc/clients/client-metadata.ts';
import { createProvider } from '../../../src/core/oidc/provider.ts';
import { withStores } from '../../store-set-up.ts';

const ISSUER = 'http://id.example.org';
const unused = async () => {
  throw new Error('not for client credentials');
};

t.test(
  'what is taken from an application while a token is issued makes the token one of before',
  async (t) => {
    const { applications, connection } = await withStores(t, (it) => ({
      applications: createApplicationStore(it, new LRUCache({ max: 10 })),
      connection: it,
    }));
    const secret = clientSecretOf('a secret');
    const draft = {
      name: 'Machine',
      type: 'machine',
      owner: 'usr_ann',
      scopes: ['read:users', 'read:data'],
    } as const;
    const owner: Account = {
      ...{ id: 'usr_ann', username: 'ann', name: 'Ann', email: null, email_verified: false, picture: null },
      ...{ locale: null, zoneinfo: null },
      ...{ first_name: null, last_name: null, phone: null, role: 'user', status: 'active' },
      ...{
        epoch: 0,
        sign_in_epoch: 0,
        recovery_epoch: 0,
        authority_epoch: 0,
        admin_epoch: 0,
        earlier_email: null,
        given_back_at: null,
        created_at: '',
        updated_at: '',
      },
    };
    const noAccount = { find: async () => undefined };
    const keys = await Promise.all(
      ['ES256', 'RS256'].map(async (alg) => {
        const { privateKey } = await generateKeyPair(alg, { extractable: true });
        return { ...(await exportJWK(privateKey)), alg, kid: alg, use: 'sig' };
      }),
    );

    let find: (id: string) => Promise<Application | undefined>;
    const store = createOidcStore(connection, {
      findClient: createFindClient({
        issuer: ISSUER,
        acceptsService: () => undefined,
        applications: { find: (id) => find(id) },
      }),
      findAccessToken: () => undefined,
      denyToken: unused,
      denyGrant: unused,
      reuseGrace: 0,
      onRepeatedRefresh: async () => {},
      keepExchangedCode: 0,
    });
    for (const [label, changes] of [
      ['its trust', { trusted: false }],
      ['a scope', { scopes: ['read:data'] }],
    ] as const) {
      const application = newApplication({ ...draft, id: `app_${label.length}`, trusted: true }, secret);
      await applications.insertIfAbsent(application);
      let reads = 0;
      /** After each read but the first, which is for the client's authentication, something is taken away. */
      find = async (id) => {
        const found = await applications.findNow(id);
        reads += 1;
        if (reads > 1 && found !== undefined) await applications.change(found, changes, true);
        return found;
      };
      const provider = createProvider({
        issuer: ISSUER,
        keys: { keys },
        cookieKeys: ['a key'],
        successorKey: Buffer.from('another key'),
        accessTokenAlgorithm: 'ES256',
        lifetimes: { accessToken: 3600, code: 60, refreshToken: 3600, session: 3600 },
        applications: {
          find,
          checkSecret: async (_id, given) => findSecret(application, given),
          used: () => {},
        },
        findResource: async () => undefined,
        findActing: async () => [],
        callerOfHandle: () => undefined,
        noteIssued: async () => {},
        accounts: noAccount,
        authority: { giverOf: async () => owner },
        acceptsService: () => undefined,
        store,
        signOuts: { signOut: unused, endGrantsOfSession: unused, isOver: unused, discard: unused },
        extensions: [
          { pages: { error: unused, signOut: unused, signedOut: unused, interactionUrl: () => '' } },
        ],
        strongestFactor: async () => SINGLE_FACTOR,
        secondFactorRequirement: {
          appliesTo: () => false,
          isWithout: () => false,
          graceEnds: async () => new Date(0),
        },
        browserId: () => '',
      });
      const server = createServer(provider.callback());
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      t.teardown(() => server.close());
      const response = await fetch(
        `http://127.0.0.1:${(server.address() as { port: number }).port}/oauth2/token`,
        {
          method: 'POST',
          body: new URLSearchParams({
            grant_type: 'client_credentials',
            client_id: application.id,
            client_secret: 'a secret',
          }),
        },
      );
      const { access_token: token } = (await response.json()) as { access_token: string };
      const { epoch, trusted, scope } = decodeJwt(token);
      t.match(
        { epoch, trusted, scope },
        { epoch: { client: 0 }, trusted: true, scope: 'read:users read:data' },
        label,
      );
      const now = await applications.findNow(application.id);
      t.ok((now?.epoch ?? 0) > 0, 'which is revoked');
    }
  },
);

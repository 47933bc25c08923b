// What deploy/local/bench/tokens.ts compares identity with: oidc-provider and nothing else, with the same kind of tokens. What
// it stores is in the database of MONGODB_URI, or in memory without one. Listens on PORT; the client is CLIENT_ID with
// CLIENT_SECRET, and GET /codes?n=… and
// GET /access-token issue authorization codes and an access token for it.
import { exportJWK, generateKeyPair } from 'jose';
import mongoose from 'mongoose';
import Provider, { type Adapter, type AdapterPayload } from 'oidc-provider';

const { PORT = '', MONGODB_URI = '', CLIENT_ID = '', CLIENT_SECRET = '' } = process.env;
const ISSUER = `http://127.0.0.1:${PORT}`;
const REDIRECT_URI = 'https://app.example.org/callback';
const SCOPE = 'openid profile read:users';
const API = `${ISSUER}/api`;

type Stored = {
  _id: string;
  payload: AdapterPayload;
  grantId?: string | undefined;
  uid?: string | undefined;
};

/** As identity has it (packages/data/src/database.ts). */
const WRITES = { writeConcern: { w: 1, journal: true }, maxPoolSize: 50 } as const;

/** The least that oidc-provider needs of MongoDB. */
function adapterOf(client: mongoose.mongo.MongoClient): (name: string) => Adapter {
  return (name) => {
    const documents = client.db('bare').collection<Stored>(name);
    const find = async (filter: Partial<Stored>) => (await documents.findOne(filter))?.payload;
    return {
      async upsert(_id, payload) {
        const { grantId, uid } = payload;
        await documents.updateOne({ _id }, { $set: { payload, grantId, uid } }, { upsert: true });
      },
      find: (_id) => find({ _id }),
      findByUid: (uid) => find({ uid }),
      findByUserCode: async () => undefined,
      async consume(_id) {
        await documents.updateOne({ _id }, { $set: { 'payload.consumed': Math.floor(Date.now() / 1000) } });
      },
      async destroy(_id) {
        await documents.deleteOne({ _id });
      },
      async revokeByGrantId(grantId) {
        await documents.deleteMany({ grantId });
      },
    };
  };
}

/** ES256 signs access tokens, and RS256 ID tokens, as OpenID Connect has it for clients that ask for nothing else. */
const keys = await Promise.all(
  ['ES256', 'RS256'].map(async (alg) => {
    const { privateKey } = await generateKeyPair(alg, { extractable: true });
    return { ...(await exportJWK(privateKey)), alg, use: 'sig', kid: alg };
  }),
);
const mongo =
  MONGODB_URI === '' ? undefined : await new mongoose.mongo.MongoClient(MONGODB_URI, WRITES).connect();
const provider = new Provider(ISSUER, {
  ...(mongo && { adapter: adapterOf(mongo) }),
  jwks: { keys },
  cookies: { keys: ['bench'] },
  scopes: SCOPE.split(' '),
  claims: { openid: ['sub'], profile: ['name'] },
  clients: [
    {
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
      grant_types: ['client_credentials', 'authorization_code', 'refresh_token'],
      redirect_uris: [REDIRECT_URI],
    },
  ],
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    introspection: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => API,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        audience: API,
        scope: 'read:users',
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
  issueRefreshToken: () => true,
  findAccount: (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId, name: 'Ann Lee' }) }),
});

const accountId = 'usr_bench';

async function prepare() {
  const client = await provider.Client.find(CLIENT_ID);
  if (client === undefined) throw new Error('there is no client');
  const grant = new provider.Grant({ accountId, clientId: CLIENT_ID });
  grant.addOIDCScope(SCOPE);
  grant.addResourceScope(API, 'read:users');
  return { accountId, client, grantId: await grant.save(), scope: SCOPE, gty: 'authorization_code' };
}

async function issueCode(): Promise<string> {
  const code = new provider.AuthorizationCode({ ...(await prepare()), redirectUri: REDIRECT_URI });
  Object.assign(code, { resource: API, authTime: Math.floor(Date.now() / 1000) });
  return code.save();
}

/** One for userinfo, which takes none that is bound to an API. */
async function issueAccessToken(): Promise<string> {
  return new provider.AccessToken(await prepare()).save();
}

provider.use(async (ctx, next) => {
  if (ctx.path === '/codes') {
    ctx.body = await Promise.all(Array.from({ length: Number(ctx.query.n) }, issueCode));
  } else if (ctx.path === '/access-token') ctx.body = await issueAccessToken();
  else await next();
});
// Longer than the pauses of the bench.
provider.listen(Number(PORT), '127.0.0.1').keepAliveTimeout = 120_000;

import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { build } from '../../build.ts';

const ROUNDS = 8;
const built = await build(t);
const { call } = built;
const root = await built.login('admin');
const works = async (credential: unknown) =>
  (await call('GET', '/api/v1/auth/permissions', String(credential))).status === 200;

/** A thief with a login of the account asks for something again and again while the owner revokes all access. */
const ATTACKS = {
  async 'API keys'(path: string, thief: string) {
    const made = await call('POST', `${path}/api-keys`, thief, { name: 'k', scopes: ['read:data'] });
    return made.body.api_key;
  },
  async 'client secrets'(path: string, thief: string) {
    const { client_secret } = (await call('POST', `${path}/secrets`, thief, {})).body;
    const client_id = path.split('/').at(-1) ?? '';
    return async () => {
      const asked = { grant_type: 'client_credentials', client_id, client_secret: String(client_secret) };
      return (await built.form(asked)).body.access_token;
    };
  },
  async 'registered machines'(_path: string, _thief: string, registrationToken: string) {
    const metadata = { grant_types: ['client_credentials'], scope: 'read:data' };
    const { client_id, client_secret } = (await call('POST', '/oauth2/register', registrationToken, metadata))
      .body;
    return async () => {
      const client = { client_id: String(client_id), client_secret: String(client_secret) };
      return (await built.form({ grant_type: 'client_credentials', ...client })).body.access_token;
    };
  },
};

for (const [name, attack] of Object.entries(ATTACKS)) {
  t.test(`of ${name} that are made while all access is revoked, none works afterwards`, async (t) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const username = `${name.replaceAll(' ', '')}${round}`;
      const id = await built.createPerson(username);
      const [thief, owner] = [await built.login(username), await built.login(username)];
      const draft = { name: 'App', type: 'machine', scopes: ['read:data'] };
      const { client_id } = await built.createApplication(owner, draft);
      const token = await call('POST', '/api/v1/registration-tokens', owner, {
        ...{ name: 'Token', scopes: ['read:data'], uses: 50, machines: true },
      });
      const made: unknown[] = [];
      let isOver = false;
      const workers = [1, 2, 3].map(async () => {
        while (!isOver && made.length < 40) {
          made.push(await attack(`/api/v1/applications/${client_id}`, thief, String(token.body.token)));
        }
      });
      await until(async () => made.filter((it) => it !== undefined).length > round % 4, 5000);
      const revoked = await call('POST', `/api/v1/users/${id}/revocations`, root, {});
      isOver = true;
      await Promise.all(workers);
      t.equal(revoked.status, 204);
      const credentials = made.filter((it) => it !== undefined);
      for (const it of credentials) {
        const credential = typeof it === 'function' ? await it() : it;
        if (credential !== undefined) t.notOk(await works(credential), `round ${round}`);
      }
    }
  });
}

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { runInNewContext } from 'node:vm';
import t from 'tap';

const script = readFileSync(resolve(import.meta.dirname, '../mongo-init.js'), 'utf8');

type User = { user: string; pwd: string; roles: { role: string; db: string }[] };

/** Runs the script as mongosh does, and returns the users that it makes, by database. */
function run(env: Record<string, string>, existing: Record<string, string> = {}): [string, User][] {
  const made: [string, User][] = [];
  const db = {
    getSiblingDB: (name: string) => ({
      getUser: (user: string) => (existing[name] === user ? { user } : null),
      createUser: (user: User) => made.push([name, user]),
    }),
  };
  runInNewContext(script, { db, process: { env }, URL });
  return made;
}

const user = (name: string, pwd: string, db = name, role = 'readWrite'): [string, User] => [
  db,
  { user: name, pwd, roles: [{ role, db }] },
];

t.test('a user for each URI in the environment, whatever the services are called', async (t) => {
  const env = {
    MONGO_INITDB_ROOT_PASSWORD: 'root',
    IDENTITY_MONGODB_URI: 'mongodb://identity:a@mongo:27017/identity',
    USERS_MONGODB_URI: 'mongodb://users:b%2Fc@mongo:27017/users',
    OTHER_MONGODB_URI: 'mongodb://other:d@mongo:27017/other',
    MONITORING_MONGODB_URI: 'mongodb://monitoring:e@mongo:27017/admin',
  };
  const monitoring = user('monitoring', 'e', 'admin', 'clusterMonitor');
  t.same(run(env), [user('identity', 'a'), user('users', 'b/c'), user('other', 'd'), monitoring]);
  const existing = { identity: 'identity', users: 'users', admin: 'monitoring' };
  t.same(run(env, existing), [user('other', 'd')], 'only those not there');
});

const PASSED_OVER = [
  '',
  'mongodb://',
  'mongodb://users:b@elsewhere:27017/users',
  'mongodb://users@mongo:27017/users',
  'mongodb://mongo:27017/users',
  'mongodb://users:b@mongo:27017/',
  'mongodb://a:b@mongo-1,mongo-2/users',
];

t.test('URIs without a user of this MongoDB are skipped', async (t) => {
  for (const uri of PASSED_OVER) t.same(run({ USERS_MONGODB_URI: uri }), [], uri);
  t.same(run({ MONGODB_URI_OF_USERS: 'mongodb://users:b@mongo:27017/users' }), []);
});

import { recordingLogger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import mongoose from 'mongoose';
import t from 'tap';
import { build, codeFor, WEB } from '../../build.ts';
import { refresh, tokensFor } from '../../tokens.ts';

const OF_TOKENS = /^oidc_(?:authorization_codes|refresh_tokens|grants)$/;
const commands: string[] = [];
const { prototype } = mongoose.mongo.MongoClient;
const { connect } = prototype;
prototype.connect = function observed() {
  this.on('commandStarted', ({ commandName: name, command }) => {
    if (OF_TOKENS.test(command[name])) commands.push(`${name} ${command[name]}`);
  });
  return connect.call(this);
};
const log = recordingLogger();
const mongodbUri = `${await testDatabase(t)}&monitorCommands=true`;
const built = await build(t, { logger: log.logger, mongodbUri });
prototype.connect = connect;
const database = await built.database();

/** The reads and writes of codes, tokens and grants, and the requests to users, that a token request needs. */
async function roundTrips(action: () => Promise<{ status: number }>) {
  commands.length = 0;
  const first = log.lines.length;
  t.equal((await action()).status, 200);
  const requests = log.lines.slice(first).filter(({ route }) => String(route).endsWith('/accounts'));
  return { commands: [...commands], requests: requests.length };
}

// WEB is not the application of the person: both accounts are read.
t.test('a refresh reads the token with its grant, and the person with the owner', async (t) => {
  const { refresh_token } = await tokensFor(built);
  t.same(await roundTrips(() => refresh(built, refresh_token)), {
    commands: ['aggregate oidc_refresh_tokens'],
    requests: 1,
  });
});

t.test('an exchange reads the code in the same way, stores a token and uses up the code', async (t) => {
  const code = await codeFor(built.browser());
  const exchange = () => built.form({ grant_type: 'authorization_code', code, ...WEB });
  t.same(await roundTrips(exchange), {
    commands: [
      'aggregate oidc_authorization_codes',
      'update oidc_refresh_tokens',
      'update oidc_authorization_codes',
    ],
    requests: 1,
  });
});

t.test('an ended grant is not accepted', async (t) => {
  const { refresh_token } = await tokensFor(built);
  const grants = database.collection<{ _id: string; ended?: boolean; expires_at: Date }>('oidc_grants');
  const past = new Date(Date.now() - 1000);
  for (const change of [{ $set: { expires_at: past } }, { $set: { ended: true } }] as const) {
    await grants.updateMany({}, change);
    t.match(await refresh(built, refresh_token), { status: 400, body: { error: 'invalid_grant' } });
    await grants.updateMany({}, { $set: { expires_at: new Date(Date.now() + 60_000) } });
  }
  await grants.deleteMany({});
  t.match(await refresh(built, refresh_token), { status: 400, body: { error: 'invalid_grant' } });
});

import { testDatabase } from '@gatehouse/testing/test-mongo';
import mongoose from 'mongoose';
import t from 'tap';
import { authorizeUrl, build, PASSWORD } from '../../build.ts';

const { MongoClient } = mongoose.mongo;
const { connect } = MongoClient.prototype;
const commands: string[] = [];
// Of those connections alone whose URI says so.
MongoClient.prototype.connect = function (this: InstanceType<typeof MongoClient>) {
  this.on('commandStarted', ({ commandName, command }) => {
    // A sweep, which happens at any time.
    if (command.filter?.expires_at?.$lte !== undefined) return;
    if (typeof command[commandName] === 'string') commands.push(`${commandName} ${command[commandName]}`);
  });
  return connect.call(this);
};
t.teardown(() => Object.assign(MongoClient.prototype, { connect }));
const uri = await testDatabase(t);
const built = await build(t, {
  mongodbUri: `${uri}${uri.includes('?') ? '&' : '?'}monitorCommands=true`,
});

/** What is not counted: guesses, in the background, and what runs by the clock. */
const OTHERS = / (?:sign_in_counters|key_rings|audit_log|seen|revocations)$/;

/** The commands of identity while this runs, sorted. */
async function commandsOf(act: () => Promise<unknown>): Promise<string[]> {
  commands.length = 0;
  await act();
  await new Promise((resolve) => setTimeout(resolve, 200));
  return commands.filter((it) => !OTHERS.test(it)).toSorted();
}

const times = (count: number, command: string) => Array<string>(count).fill(command);

t.test('a sign-in with a password reads and writes nothing about factors that nobody asks for', async (t) => {
  const visitor = built.browser();
  const page = await visitor.get(authorizeUrl());
  const consent = await visitor.submit(page, { username: 'ann', password: PASSWORD });
  await visitor.submit(consent, { decision: 'allow' });
  await visitor.submit(await visitor.get('/account'), {}, 'sign-out');
  const again = await visitor.get(authorizeUrl());
  t.strictSame(await commandsOf(() => visitor.submit(again, { username: 'ann', password: PASSWORD })), [
    ...['delete oidc_interactions', 'find authenticator_apps', ...times(5, 'find oidc_interactions')],
    ...['find oidc_sessions', ...times(2, 'find sign_in_generations')],
    ...[...times(2, 'update oidc_interactions'), 'update oidc_sessions'],
  ]);
  const login = ['find authenticator_apps', ...times(2, 'find sign_in_generations'), 'insert api_logins'];
  t.strictSame(await commandsOf(() => built.logIn('ann')), login);
  // Whether the password is enough for another address depends on the factors.
  const profile = ['find authenticator_apps', 'find oidc_sessions'];
  t.strictSame(await commandsOf(() => visitor.get('/account')), profile);
  t.strictSame(await commandsOf(() => visitor.get('/account/sessions')), [
    'find api_logins',
    ...times(2, 'find oidc_sessions'),
  ]);
});

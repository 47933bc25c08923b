import { newId } from '@gatehouse/core/ids';
import { until } from '@gatehouse/testing/processes';
import type { Role } from '@gatehouse/tokens/scopes';
import t from 'tap';
import { ALL, ANN, build, NOTIFICATIONS } from '../build.ts';

const { call, issuer, ended, read } = await build(t, {
  providers: { capture: { directory: t.testdir() } },
});
const admin = await issuer.person('usr_admin', 'admin', ALL);
const pause = (paused: boolean) => call('PUT', '/api/v1/queues/messages/email', admin, { paused });
const MESSAGE = { user_id: ANN, message: 'Hello', type: 'email' };

/** Who sends: an editor, an editor's application by the credential of a member, or a trusted application. */
async function sender() {
  const [owner, member, app, trusted] = [newId('usr'), newId('usr'), newId('app'), newId('app')];
  const state = new Map<string, { role: Role | 'machine' | null; owner: string | null; authority: number }>();
  const say = (id: string, changes: Partial<NonNullable<ReturnType<typeof state.get>>>) => {
    const now = { role: 'editor' as const, owner: id, authority: 0, ...state.get(id), ...changes };
    state.set(id, now);
    issuer.rights.set(id, {
      ...{
        role: now.role,
        owner: now.owner,
        credentials: [],
        epochs: { recovery: 0, authority: now.authority },
      },
    });
    issuer.revoke({ kind: id.startsWith('app') ? 'client' : 'subject', id, epoch: 0 });
  };
  const tokens = {
    person: await issuer.person(owner, 'editor', ALL),
    member: await issuer.sign({
      ...{ sub: app, client_id: app, owner, roles: ['editor'], given_by: member, scope: ALL },
    }),
    trusted: await issuer.sign({ sub: trusted, client_id: trusted, trusted: true, scope: ALL }),
  };
  for (const id of [owner, member]) say(id, { authority: 3 });
  say(trusted, { role: 'machine', owner, authority: 3 });
  return { owner, member, trusted, tokens, say };
}
type Sender = Awaited<ReturnType<typeof sender>>;

const cases: [name: string, by: keyof Sender['tokens'], happens: (it: Sender) => void, status: string][] = [
  ['nothing', 'person', () => {}, 'sent'],
  ['a demotion', 'person', ({ owner, say }) => say(owner, { role: 'user' }), 'cancelled'],
  ['a promotion', 'person', ({ owner, say }) => say(owner, { role: 'admin' }), 'sent'],
  ['a deactivation', 'person', ({ owner, say }) => say(owner, { role: null }), 'cancelled'],
  ['a deletion', 'person', ({ owner, say }) => say(owner, { role: null, owner: null }), 'cancelled'],
  ['an end of all access', 'person', ({ owner, say }) => say(owner, { authority: 4 }), 'cancelled'],
  ['nothing', 'member', () => {}, 'sent'],
  ['an end of the owner’s access', 'member', ({ owner, say }) => say(owner, { authority: 4 }), 'cancelled'],
  [
    'an end of the member’s access',
    'member',
    ({ member, say }) => say(member, { authority: 4 }),
    'cancelled',
  ],
  ['a demotion of the member', 'member', ({ member, say }) => say(member, { role: 'user' }), 'cancelled'],
  ['nothing', 'trusted', () => {}, 'sent'],
  ['an end of the trust', 'trusted', ({ trusted, say }) => say(trusted, { role: 'user' }), 'cancelled'],
  [
    'an end of the owner’s access',
    'trusted',
    ({ trusted, say }) => say(trusted, { authority: 4 }),
    'cancelled',
  ],
  ['a transfer', 'trusted', ({ trusted, say }) => say(trusted, { owner: newId('usr') }), 'cancelled'],
];

t.test('a message that waits is sent only while its sender could send it', async (t) => {
  await pause(true);
  const waiting = [];
  for (const [name, by, happens, status] of cases) {
    const somebody = await sender();
    const { status: accepted, body } = await call('POST', NOTIFICATIONS, somebody.tokens[by], MESSAGE);
    t.equal(accepted, 202);
    waiting.push({ id: body.id, happens: () => happens(somebody), what: `${by}: ${name}`, status });
  }
  for (const { happens } of waiting) happens();
  await pause(false);
  for (const { id, what, status } of waiting) {
    const reason = status === 'sent' ? null : /^Its sender may not send/;
    t.match(await ended(id), { status, reason, attempts: { length: status === 'sent' ? 1 : 0 } }, what);
  }
});

t.test('a message waits while identity cannot say, and is accepted then', async (t) => {
  const { owner, tokens, say } = await sender();
  // No owner has such a role.
  say(owner, { role: 'unknown' as Role });
  const { status, body } = await call('POST', NOTIFICATIONS, tokens.person, MESSAGE);
  t.equal(status, 202);
  await until(async () => (await read(body.id)).reason !== null, 10_000);
  t.match(await read(body.id), { status: 'queued', reason: /identity service/, attempts: [] });
  say(owner, { role: 'editor' });
  t.match(await ended(body.id), { status: 'sent' });
});

t.test('messages that a member sends hold up none of the owner', async (t) => {
  const { tokens } = await sender();
  await pause(true);
  const send = async (token: string) => (await call('POST', NOTIFICATIONS, token, MESSAGE)).body.id;
  const ofMember = [];
  for (let i = 0; i < 60; i += 1) ofMember.push(await send(tokens.member));
  const own = await send(tokens.person);
  await pause(false);
  const sentAt = async (id: string) => Date.parse((await ended(id)).attempts[0]?.ended_at ?? '');
  t.ok((await sentAt(own)) < (await sentAt(String(ofMember.at(-1)))), 'it waited behind none of them');
});

import { defaultsOf } from '@gatehouse/domain/fields';
import type { RequestedBy } from '@gatehouse/server/requests';
import fc from 'fast-check';
import t from 'tap';
import { type Account, type SecurityChange, type UserChanges, WrongPasswordError } from '../src/user.ts';
import {
  type AccountUpdate,
  changeSecurity,
  changeUser,
  createUser,
  deleteUser,
  restoreEmail,
  verifyEmail,
} from '../src/user-changes.ts';
import { ACCOUNT } from '../src/user-fields.ts';

const ANN: Account = {
  ...defaultsOf(ACCOUNT),
  ...{ id: 'usr_ann', username: 'ann', email: 'ann@example.org', emailVerified: true, firstName: 'Ann' },
  ...{ role: 'user', status: 'active', passwordHash: 'hash', emailContested: false },
  ...{ epoch: 5, signInEpoch: 2, recoveryEpoch: 1, authorityEpoch: 3, adminEpoch: 2, version: 7 },
  createdAt: new Date('2026-01-01T00:00:00Z'),
  updatedAt: new Date('2026-01-02T00:00:00Z'),
};
const REVISION = { version: 8, updatedAt: new Date('2026-01-03T00:00:00Z') };

/** What others learn: each end of tokens as [reason, epoch, signInEpoch], and the fields that are different. */
function learned({ accountChanges, events }: AccountUpdate) {
  const changed = events.flatMap(({ data }) => ('changed' in data ? (data.changed ?? []) : []));
  return [accountChanges.map(({ reason, epoch, signInEpoch }) => [reason, epoch, signInEpoch]), changed];
}

type Changes = UserChanges & { passwordHash?: string };
const CHANGES: [Changes, ends: [string, number, number][], changed: string[]][] = [
  [{}, [], []],
  [{ username: 'ann', firstName: 'Ann', name: null, role: 'user', status: 'active' }, [], []],
  [{ phone: '+4912345' }, [], ['phone']],
  [
    { picture: 'p', lastName: 'l', firstName: null, name: 'n' },
    [],
    ['name', 'first_name', 'last_name', 'picture'],
  ],
  [{ email: 'ann@example.org' }, [], []],
  [{ email: 'ANN@example.org' }, [['email', 5, 2]], ['email', 'email_verified']],
  [{ role: 'editor' }, [['role', 6, 2]], ['role']],
  [{ status: 'inactive' }, [['status', 6, 3]], ['status']],
  [{ passwordHash: 'new' }, [['password', 6, 3]], ['password']],
  [
    { passwordHash: 'new', status: 'inactive', role: 'admin', phone: '1' },
    [
      ['role', 6, 2],
      ['status', 7, 3],
      ['password', 8, 4],
    ],
    ['phone', 'role', 'status', 'password'],
  ],
];

t.test('the effects of a change', async (t) => {
  for (const [changes, ends, changed] of CHANGES) {
    const about = JSON.stringify(changes);
    const update = changeUser(ANN, changes, REVISION);
    const [epoch, signInEpoch] = ends.at(-1)?.slice(1) ?? [5, 2];
    const emailVerified = !changed.includes('email_verified');
    const address = emailVerified ? {} : { earlierEmail: ANN.email, emailReplacedAt: REVISION.updatedAt };
    const isLowered = changes.status === 'inactive';
    const authorityEpoch = isLowered ? 4 : 3;
    const loweredAt = isLowered ? REVISION.updatedAt : null;
    t.strictSame(
      update.next,
      {
        ...ANN,
        ...changes,
        ...address,
        emailVerified,
        epoch,
        signInEpoch,
        authorityEpoch,
        loweredAt,
        ...REVISION,
      },
      about,
    );
    t.strictSame(learned(update), [ends, changed], about);
    t.same(
      update.events.map(({ subject }) => subject),
      [...ends.map(() => 'users.account.changed'), 'users.user.changed'],
      'the account comes before the user',
    );
  }
  t.match(changeUser({ ...ANN, status: 'inactive' }, { status: 'active' }, REVISION), {
    accountChanges: [{ reason: 'status', epoch: 6, signInEpoch: 2 }],
  });
  const unverified = { ...ANN, emailVerified: false };
  t.strictSame(learned(changeUser(unverified, { email: 'x@example.org' }, REVISION)), [[], ['email']]);
});

t.test('the first username of 72 hours is held, and its owner hears of each change', async (t) => {
  const at = (hours: number) => new Date(REVISION.updatedAt.getTime() + hours * 3600_000);
  let account = ANN;
  for (const [hours, username, held, until, previous, isRestorable] of [
    [0, 'ANN', null, null, 'ann', undefined],
    [1, 'eve', 'ann', at(73), 'ANN', true],
    [2, 'mal', 'ann', at(73), 'eve', undefined],
    [3, 'Ann', null, null, 'mal', undefined],
    [4, 'eve', 'ann', at(76), 'Ann', true],
    [76, 'mal', 'eve', at(148), 'eve', true],
  ] as const) {
    const { next, accountChanges } = changeUser(account, { username }, { version: 8, updatedAt: at(hours) });
    t.match(next, { username, heldUsername: held, usernameHeldUntil: until }, username);
    t.match(accountChanges, [{ reason: 'username', previousUsername: previous, isRestorable }], username);
    account = next;
  }
});

t.test('events carry ids, versions, epochs, roles and names of fields, and no other values', async (t) => {
  const { events } = changeUser(ANN, { name: 'Secret', role: 'admin', passwordHash: 'Secret' }, REVISION);
  t.strictSame(events, [
    {
      subject: 'users.account.changed',
      data: {
        ...{ user_id: 'usr_ann', epoch: 6, sign_in_epoch: 2, reason: 'role' },
        details: { from: 'user', to: 'admin' },
      },
    },
    {
      subject: 'users.account.changed',
      data: { user_id: 'usr_ann', epoch: 7, sign_in_epoch: 3, reason: 'password' },
    },
    {
      subject: 'users.user.changed',
      data: { user_id: 'usr_ann', version: 8, changed: ['name', 'role', 'password'] },
    },
  ]);
  t.strictSame(createUser(ANN), {
    accountChanges: [],
    events: [{ subject: 'users.user.created', data: { user_id: 'usr_ann', version: 7 } }],
  });
});

t.test("the audit log gets the changes that identity's own pages do not record", async (t) => {
  const by = {
    ...{ user_id: 'usr_admin', client_id: 'app_1', address: '192.0.2.1' },
    ...{ user_agent: 'Browser/1', request_id: 'req_1' },
  };
  const unverified = { ...ANN, emailVerified: false };
  const creation = (role: Account['role'], who?: typeof by) => createUser({ ...ANN, role }, who);
  const change = (changes: Changes, who?: typeof by, from = ANN) =>
    changeUser(from, changes, { ...REVISION, by: who });
  for (const [name, { accountChanges, events }, expected] of [
    ['a sign-up', creation('user'), []],
    ['an ordinary creation', creation('user', by), []],
    ['that of an admin', creation('admin', by), [['created', { role: 'admin', status: 'active' }, by]]],
    ['by a setting', creation('admin'), [['created', { role: 'admin', status: 'active' }, undefined]]],
    ['a username', change({ username: 'eve' }, by), [['username', undefined, by]]],
    [
      'that on our pages, which has a mail',
      change({ username: 'eve' }),
      [['username', undefined, undefined]],
    ],
    ['names', change({ name: 'x', lastName: 'y', phone: '+49', picture: 'y' }, by), []],
    ['what is so already', change({ username: 'ann', role: 'user' }, by), []],
    ['an address', change({ email: 'x@example.org' }, by), [['email', undefined, by]]],
    [
      'one that was not verified',
      change({ email: 'x@example.org' }, by, unverified),
      [['email', undefined, by]],
    ],
    ['that on our pages', change({ email: 'x@example.org' }, undefined, unverified), []],
    ['a role', change({ role: 'editor' }, by), [['role', { from: 'user', to: 'editor' }, by]]],
    ['a status', change({ status: 'inactive' }, by), [['status', { from: 'active', to: 'inactive' }, by]]],
    ['a password', change({ passwordHash: 'x' }, by), [['password', undefined, by]]],
    [
      'several',
      change({ username: 'eve', email: 'x@example.org', role: 'admin' }, by),
      [
        ['email', undefined, by],
        ['username', undefined, by],
        ['role', { from: 'user', to: 'admin' }, by],
      ],
    ],
  ] as const) {
    t.strictSame(
      accountChanges.map((it) => [it.reason, it.details, it.by]),
      expected,
      name,
    );
    const told = events.filter(({ subject }) => subject.startsWith('users.account.'));
    for (const { subject, data } of told) {
      const hasEffect = 'epoch' in data && (data.epoch > ANN.epoch || data.previous_email !== undefined);
      t.equal(subject, hasEffect ? 'users.account.changed' : 'users.account.recorded', name);
    }
    t.match(
      told.map(({ data }) => data),
      accountChanges.map(({ reason, epoch }) => ({ reason, epoch })),
      name,
    );
    t.notMatch(JSON.stringify(told), /eve|x@example|"y"/, 'no name, no new address');
  }
});

t.test('a security change is an ordinary change, or none', async (t) => {
  const changes: [SecurityChange, Changes | undefined][] = [
    [{ reason: 'role', role: 'user' }, undefined],
    [{ reason: 'role', role: 'admin' }, { role: 'admin' }],
    [{ reason: 'status', status: 'active' }, undefined],
    [{ reason: 'status', status: 'inactive' }, { status: 'inactive' }],
    [{ reason: 'password', passwordHash: 'new' }, { passwordHash: 'new' }],
    [{ reason: 'password', passwordHash: 'new', currentHash: 'hash' }, { passwordHash: 'new' }],
  ];
  for (const [change, same] of changes) {
    t.strictSame(changeSecurity(ANN, change, REVISION), same && changeUser(ANN, same, REVISION));
  }
  for (const passwordHash of ['other', null]) {
    const change = { reason: 'password', passwordHash: 'new', currentHash: 'hash' } as const;
    t.throws(() => changeSecurity({ ...ANN, passwordHash }, change, REVISION), new WrongPasswordError());
  }
});

t.test('only the current address can be verified', async (t) => {
  const unverified = { ...ANN, emailVerified: false };
  const update = verifyEmail(unverified, 'ann@example.org', REVISION);
  t.strictSame(update.next, { ...ANN, ...REVISION });
  t.strictSame(learned(update), [[], ['email_verified']]);
  t.strictSame(learned(verifyEmail(ANN, 'ann@example.org', REVISION)), [[], []], 'once more');
  for (const email of ['other@example.org', null]) {
    t.throws(() => verifyEmail({ ...ANN, email }, 'ann@example.org', REVISION), {
      message: 'This is not the current email address any more.',
    });
  }
});

t.test('only a confirmed address gets a mail about the next one', async (t) => {
  const [told] = changeUser(ANN, { email: 'x@example.org' }, REVISION).events;
  t.match(told?.data, { reason: 'email', previous_email: 'ann@example.org', epoch: 5, sign_in_epoch: 2 });
  for (const email of ['ann@example.org', null]) {
    const unverified = { ...ANN, email, emailVerified: false };
    t.strictSame(changeUser(unverified, { email: 'x@example.org' }, REVISION).accountChanges, []);
  }
});

t.test('a recovery and revocations raise the epochs of what they end', async (t) => {
  const of = (change: SecurityChange) => changeSecurity(ANN, change, REVISION)?.next;
  const { epoch, signInEpoch, recoveryEpoch, authorityEpoch, adminEpoch } = ANN;
  const all = { epoch, signInEpoch, recoveryEpoch, authorityEpoch, adminEpoch };
  const password = { reason: 'password', passwordHash: 'new' } as const;
  t.match(of(password), { ...all, epoch: 6, signInEpoch: 3 });
  t.match(of({ ...password, isRecovery: true }), { ...all, epoch: 6, signInEpoch: 3, recoveryEpoch: 2 });
  t.match(of({ reason: 'revoked', everything: false }), { ...all, epoch: 6, authorityEpoch: 4 });
  t.match(of({ reason: 'revoked', everything: true }), {
    ...{ epoch: 6, signInEpoch: 3, recoveryEpoch: 2, authorityEpoch: 4, adminEpoch: 3 },
  });
  const roleFrom = (role: Account['role'], next: Account['role']) =>
    changeUser({ ...ANN, role }, { role: next }, REVISION).next;
  t.match(roleFrom('admin', 'editor'), { ...all, epoch: 6, adminEpoch: 3 });
  t.match(roleFrom('editor', 'user'), { ...all, epoch: 6 });
  t.match(roleFrom('editor', 'admin'), { ...all, epoch: 6 });
});

t.test('an address that is given back ends whatever the account was open to', async (t) => {
  const taken = { ...ANN, email: 'thief@example.org', earlierEmail: 'ann@example.org' };
  const update = restoreEmail(taken, 'ann@example.org', REVISION);
  const closed = { passwordHash: null, epoch: 6, signInEpoch: 3, recoveryEpoch: 2 };
  t.strictSame(update.next, { ...ANN, ...closed, earlierEmail: ANN.email, ...REVISION });
  t.match(update.accountChanges, [{ previousEmail: 'thief@example.org', isRestorable: undefined }]);
  t.strictSame(learned(update), [[['email_restored', 6, 3]], ['email', 'password']]);
  const without = restoreEmail({ ...taken, passwordHash: null }, 'ann@example.org', REVISION);
  t.match(without.next, closed, 'an account without a password, too');
});

const HOUR = 3600_000;
/** The changes of an address over the hours, and what links then give back. Each begins with the confirmed address A. */
type Step =
  | { at?: number; to: string; by?: RequestedBy }
  | { at?: number; security: SecurityChange; by?: RequestedBy }
  | { at?: number; restore: string };
const BY = { client_id: 'app_1', address: '192.0.2.1', user_agent: null, request_id: 'req_1' };
const [OWN, ADMIN, MACHINE] = ['usr_ann', 'usr_admin', null].map((user_id) => ({ ...BY, user_id })) as [
  RequestedBy,
  RequestedBy,
  RequestedBy,
];
const PASSWORD = { reason: 'password', passwordHash: 'next' } as const;
const REVOKED = { reason: 'revoked', everything: true } as const;
const CLOSED = { reason: 'status', status: 'inactive' } as const;
const SET_UP = { ...PASSWORD, isRecovery: true, isSetUp: true };
const RECOVERED = { ...PASSWORD, isRecovery: true };
const STOLEN = { to: 'T', at: 0 };
const KEPT = { to: 'A', at: 80 };
/** The name, the steps, the addresses that got a link, and the one that a link gives back at the end. */
const STORIES: [string, Step[], links: string, restorable: string | null][] = [
  ['a thief has the account', [STOLEN], 'A', 'A'],
  ['who takes a further address', [STOLEN, { to: 'T2' }], 'A', 'A'],
  ['at the end of the time', [STOLEN, { to: 'T2', at: 71 }, { to: 'O', at: 73 }], 'A', 'A'],
  ['another password', [STOLEN, { security: PASSWORD }, { security: PASSWORD, by: OWN }], 'A', 'A'],
  ['a link for a new password', [STOLEN, { security: RECOVERED }], 'A', 'A'],
  ['a revocation of all access', [STOLEN, { security: REVOKED, by: OWN }], 'A', 'A'],
  ['a password through an application', [STOLEN, { security: PASSWORD, by: MACHINE }], 'A', 'A'],
  ['a link that undoes another change', [STOLEN, { restore: 'T' }], 'A', 'A'],
  ['the owner sets it back', [STOLEN, { to: 'A', at: 5 }, { security: PASSWORD }], 'A', 'A'],
  ['and loses it again', [STOLEN, { to: 'A', at: 60 }, { to: 'T2', at: 90 }], 'AA', 'A'],
  ['an admin sets it back', [STOLEN, { to: 'A', by: ADMIN }, { security: PASSWORD, by: ADMIN }], 'A', 'A'],
  ['in the other order', [STOLEN, { security: PASSWORD, by: ADMIN }, { to: 'A', by: ADMIN }], 'A', 'A'],
  ['an admin sets another one', [STOLEN, { to: 'O', by: ADMIN }], 'A', 'O'],
  ['and a thief changes it', [STOLEN, { to: 'O', by: ADMIN }, { to: 'T2' }], 'AO', 'O'],
  ['a link restores it', [STOLEN, { to: 'T2' }, { restore: 'A' }], 'A', 'A'],
  ['an admin revokes all access', [STOLEN, { security: REVOKED, by: ADMIN }], 'A', null],
  ['deactivates', [STOLEN, { security: CLOSED, by: ADMIN }], 'A', null],
  ['sets the password', [STOLEN, { security: PASSWORD, by: ADMIN }], 'A', null],
  ['a set-up link, and another address', [STOLEN, { security: SET_UP }, { to: 'O' }], 'A', null],
  ['after days the owner sets it back', [STOLEN, KEPT], 'AT', 'T'],
  ['and uses a link for a new password', [STOLEN, KEPT, { security: RECOVERED }], 'AT', 'T'],
  ['and an admin revokes all access', [STOLEN, KEPT, { security: REVOKED, by: ADMIN }], 'AT', null],
  ['and uses a set-up link', [STOLEN, KEPT, { security: SET_UP }], 'AT', null],
  ['after days an admin sets it back', [STOLEN, { ...KEPT, by: ADMIN }], 'A', 'A'],
  ['after days by a set-up link', [STOLEN, { security: SET_UP, at: 80 }, KEPT], 'A', null],
  ['an admin sets the first password', [{ security: SET_UP, by: ADMIN }, STOLEN], 'A', 'A'],
];
t.test('the link to the address that was there for 72 hours, and no other, gives it back', async (t) => {
  for (const [name, steps, links, restorable] of STORIES) {
    let [account, hours]: [Account, number] = [{ ...ANN, email: 'A' }, 0];
    const linked: string[] = [];
    for (const step of steps) {
      hours = step.at ?? hours;
      const by = 'by' in step ? step.by : undefined;
      const revision = { version: 8, updatedAt: new Date(REVISION.updatedAt.getTime() + hours * HOUR), by };
      const update =
        'restore' in step
          ? restoreEmail(account, step.restore, revision)
          : 'to' in step
            ? changeUser(account, { email: step.to }, revision)
            : changeSecurity(account, step.security, revision);
      linked.push(
        ...(update?.accountChanges ?? []).flatMap(({ isRestorable, previousEmail = '' }) =>
          isRestorable ? [previousEmail] : [],
        ),
      );
      account = { ...(update?.next ?? account), emailVerified: true };
    }
    t.equal(linked.join(''), links, `${name}: who gets a link`);
    for (const email of ['A', 'T', 'T2', 'O'].filter((it) => it !== account.email)) {
      const restore = () => restoreEmail(account, email, REVISION);
      if (email === restorable) t.equal(restore().next.email, email, `${name}: ${email} comes back`);
      else t.throws(restore, { message: /cannot be restored/ }, `${name}: ${email} does not come back`);
    }
    t.equal(account.earlierEmail, restorable, name);
    const acts = steps.filter((it) => 'security' in it && (it.by === ADMIN || it.security === SET_UP));
    t.equal(account.givenBackAt !== null, acts.length > 0, `${name}: whether links of before end`);
  }
});

t.test('an address that nobody had confirmed is no earlier one', async (t) => {
  const typo = { ...ANN, email: 'typo', emailVerified: false };
  const { next } = changeUser(typo, { email: 'A' }, REVISION);
  const { accountChanges } = changeUser({ ...next, emailVerified: true }, { email: 'T' }, REVISION);
  t.match(accountChanges, [{ previousEmail: 'A', isRestorable: true }], 'so that the next one gets a link');
});

t.test('a deletion ends tokens and sessions', async (t) => {
  t.strictSame(deleteUser(ANN, REVISION), {
    accountChange: { userId: 'usr_ann', epoch: 6, signInEpoch: 3, reason: 'deleted' },
    events: [
      {
        subject: 'users.account.changed',
        data: { user_id: 'usr_ann', epoch: 6, sign_in_epoch: 3, reason: 'deleted' },
      },
      { subject: 'users.user.deleted', data: { user_id: 'usr_ann', version: 8 } },
      ...['identity', 'items', 'commerce', 'notifications'].map((service) => ({
        subject: `users.erasure.${service}`,
        data: { user_id: 'usr_ann' },
      })),
    ],
  });
});

t.test('for any change, epochs increase by one per event, and the input is not mutated', async () => {
  const changes = fc.record(
    {
      username: fc.constantFrom('ann', 'bob'),
      email: fc.constantFrom('ann@example.org', 'bob@example.org'),
      role: fc.constantFrom('user', 'editor', 'admin'),
      status: fc.constantFrom('active', 'inactive'),
      passwordHash: fc.string(),
    },
    { requiredKeys: [] },
  ) as fc.Arbitrary<Changes>;
  const frozen = Object.freeze({ ...ANN });
  const property = fc.property(fc.array(changes, { maxLength: 5 }), (all) => {
    let current: Account = frozen;
    for (const change of all) {
      const { next, accountChanges } = changeUser(Object.freeze(current), change, REVISION);
      const raising = accountChanges.filter(({ reason }) => !['username', 'email'].includes(reason));
      const ends = raising.filter(({ reason }) => reason !== 'role');
      const isRisen =
        next.epoch === current.epoch + raising.length &&
        next.signInEpoch <= current.signInEpoch + ends.length &&
        raising.every(({ epoch }, i) => epoch === current.epoch + i + 1);
      if (!isRisen || (next.email !== current.email && next.emailVerified)) return false;
      current = next;
    }
    return true;
  });
  fc.assert(property);
});

t.test('an application undoes no demotion or deactivation at once', async (t) => {
  const by = (user_id: string | null) => ({
    user_id,
    client_id: 'app',
    address: '',
    user_agent: null,
    request_id: '',
  });
  const at = (seconds: number, user: string | null = null) => ({
    version: 9,
    updatedAt: new Date(REVISION.updatedAt.getTime() + seconds * 1000),
    by: by(user),
  });
  const admin: Account = { ...ANN, role: 'admin' };
  for (const [lower, raise] of [
    [{ role: 'user' }, { role: 'admin' }],
    [{ status: 'inactive' }, { status: 'active' }],
  ] as const) {
    const { next } = changeUser(admin, lower, at(0, 'usr_root'));
    t.throws(() => changeUser(next, raise, at(9)), /demoted or deactivated/);
    t.match(changeUser(next, raise, at(9, 'usr_root')).next, raise, 'an admin does');
    t.match(changeUser(next, raise, at(11)).next, raise, 'later it does');
    const own = changeUser(admin, lower, at(0)).next;
    t.match(changeUser(own, raise, at(1)).next, raise, 'or what it lowered itself');
  }
  t.match(changeUser(ANN, { role: 'admin' }, at(0)).next, { role: 'admin' });
});

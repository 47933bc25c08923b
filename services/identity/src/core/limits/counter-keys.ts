import { createHmac } from 'node:crypto';
import { addressKeys } from '@gatehouse/api/http/rate-limit';
import { loginKey } from '@gatehouse/domain/folded-key';
import {
  ACCOUNT,
  ADDRESSES,
  IN_A_ROW,
  MAILS_FROM_ADDRESS,
  MAILS_TO_RECIPIENT,
  type ThrottlePolicy,
} from './throttle-policies.ts';

/** An account and the names that sign in to it. */
export type NamedAccount = { id: string; username: string; email: string | null; sign_in_epoch: number };

type Attempt = {
  login?: string;
  account: NamedAccount | undefined;
  address: string;
  knownDevice: boolean;
  isKnownAddress: boolean;
};
/** Each kind of attempt has a row of failures of its own. */
type Kind = 'row' | 'row of known addresses' | 'row of known devices';

/** A silent one does not refuse an attempt: once it is full, the account is closed. */
export type Counter = { key: string; policy: ThrottlePolicy; silent?: boolean };

/** Names the counters of attempts; the key hides logins and addresses in the database. */
export function createCounterKeys(key: Buffer) {
  /** As JSON, since a login may contain any character: none of them ends a part. */
  const keyOf = (...parts: string[]) =>
    createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url');

  const rowOf = (of: readonly string[], kind: Kind) => keyOf(kind, ...of);

  /** The rows of failures of an account, of all who have tried it, by whichever name. */
  const rowsOf = ({ id, username, email }: NamedAccount) => [
    rowOf(['id', id], 'row of known devices'),
    ...(['row', 'row of known addresses'] as const).flatMap((kind) => [
      rowOf(['id', id], kind),
      ...[username, email ?? username].map((name) => rowOf([loginKey(name)], kind)),
    ]),
  ];

  /** An address from which an account was signed in to with a password, until all of its sign-ins end. */
  function signedInFrom({ account, address }: Pick<Attempt, 'account' | 'address'>): string {
    const { id = 'nobody', sign_in_epoch: epoch = 0 } = account ?? {};
    return keyOf('signed in', id, String(epoch), addressKeys(address)[0]);
  }

  /** The row of the account beside that of the login. For no account one of a few, so that it takes the same time. */
  function silentRow(login: string, account: NamedAccount | undefined, kind: Kind): Counter {
    const of = account === undefined ? ['nobody', keyOf('nobody', login).slice(0, 2)] : ['id', account.id];
    const policy = account === undefined ? { ...IN_A_ROW, delays: [0] } : IN_A_ROW;
    return { key: rowOf(of, kind), policy, silent: true };
  }

  /**
   * The counters for an attempt; known devices have counters of their own, and no others. Known addresses have rows of their own, which
   * behave like those of all others, so that nothing else tells who has signed in there.
   */
  function countersOf(
    { account, address, knownDevice, isKnownAddress, ...attempt }: Attempt,
    isClosed = false,
  ) {
    const login = loginKey(attempt.login ?? '');
    const by = knownDevice && account !== undefined ? ['id', account.id] : [login];
    const networks = addressKeys(address);
    const kind = knownDevice ? 'row of known devices' : isKnownAddress ? 'row of known addresses' : 'row';
    const pair = keyOf('pair', knownDevice ? 'known' : 'unknown', networks[0], ...by);
    const shared: Counter[] = [
      ...(isClosed ? [] : [silentRow(login, account, kind)]),
      { key: keyOf('account', ...by), policy: ACCOUNT },
      ...ADDRESSES.flatMap((policy, i) => {
        const network = networks[i];
        return network === undefined ? [] : [{ key: keyOf('address', network), policy }];
      }),
    ];
    const row = { key: rowOf(by, kind), policy: IN_A_ROW };
    return { pair, shared: knownDevice ? [row] : [row, ...shared] };
  }

  function mailCounters({ recipient, address }: { recipient?: string; address?: string }): Counter[] {
    const networks = address === undefined ? [] : addressKeys(address);
    return [
      ...(recipient === undefined ? [] : [{ key: keyOf('mail', recipient), policy: MAILS_TO_RECIPIENT }]),
      ...networks.map((network, i) => ({
        key: keyOf('mails from', network),
        policy: { ...MAILS_FROM_ADDRESS, free: MAILS_FROM_ADDRESS.free * 2 ** i },
      })),
    ];
  }

  return { keyOf, rowsOf, signedInFrom, countersOf, mailCounters };
}

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
export type NamedAccount = { id: string; username: string; email: string | null };

type Attempt = { login?: string; account: NamedAccount | undefined; address: string; knownDevice: boolean };

/** A silent one does not refuse an attempt: once it is full, the account is closed. */
export type Counter = { key: string; policy: ThrottlePolicy; silent?: boolean };

/** Names the counters of attempts; the key hides logins and addresses in the database. */
export function createCounterKeys(key: Buffer) {
  /** As JSON, since a login may contain any character: none of them ends a part. */
  const keyOf = (...parts: string[]) =>
    createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url');

  const rowOf = (of: readonly string[], knownDevice: boolean) =>
    keyOf(knownDevice ? 'row of known devices' : 'row', ...of);

  /** The rows of failures of an account, of all who have tried it, by whichever name. */
  const rowsOf = ({ id, username, email }: NamedAccount) => [
    ...[true, false].map((known) => rowOf(['id', id], known)),
    ...[username, email ?? username].map((name) => rowOf([loginKey(name)], false)),
  ];

  /** The row of the account beside that of the login. For no account one of a few, so that it takes the same time. */
  function silentRow(login: string, account: NamedAccount | undefined): Counter {
    const of = account === undefined ? ['nobody', keyOf('nobody', login).slice(0, 2)] : ['id', account.id];
    const policy = account === undefined ? { ...IN_A_ROW, delays: [0] } : IN_A_ROW;
    return { key: rowOf(of, false), policy, silent: true };
  }

  /** The counters for an attempt; known devices have counters of their own, and no others. */
  function countersOf({ account, address, knownDevice, ...attempt }: Attempt, isClosed = false) {
    const login = loginKey(attempt.login ?? '');
    const by = knownDevice && account !== undefined ? ['id', account.id] : [login];
    const networks = addressKeys(address);
    const pair = keyOf('pair', knownDevice ? 'known' : 'unknown', networks[0], ...by);
    const shared: Counter[] = [
      ...(isClosed ? [] : [silentRow(login, account)]),
      { key: keyOf('account', ...by), policy: ACCOUNT },
      ...ADDRESSES.flatMap((policy, i) => {
        const network = networks[i];
        return network === undefined ? [] : [{ key: keyOf('address', network), policy }];
      }),
    ];
    const row = { key: rowOf(by, knownDevice), policy: IN_A_ROW };
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

  return { keyOf, rowsOf, countersOf, mailCounters };
}

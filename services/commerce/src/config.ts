import { type ResourceConfig, resourceSettings } from '@gatehouse/api/resource/config';
import { described, integer, optional, readSettings } from '@gatehouse/core/config';
import { serviceUrlSetting } from '@gatehouse/server/service-settings';

export type CommerceConfig = ResourceConfig & {
  /** The origin of users as reached from this process. */
  usersUrl: string;
  /** How many pending orders a person may have placed for themselves; 100 by default. */
  maxPendingOrders?: number;
  /** After how many hours a pending order is cancelled; 720 by default. With 0 that never happens. */
  pendingOrderHours?: number;
  /** The total, in the currency of an order, above which a refund takes a fresh sign-in; there is none by default. */
  refundLimit?: number | undefined;
};

const maxPendingOrders = described(
  'How many pending orders, which hold stock, a person may have placed for themselves.',
  integer('COMMERCE_MAX_PENDING_ORDERS', { min: 1, max: 10_000, default: 100 }),
);
/** 30 days. */
const pendingOrderHours = described(
  'After how many hours a pending order is cancelled and its stock returned; 0 for never.',
  integer('COMMERCE_PENDING_ORDER_HOURS', { min: 0, max: 87_600, default: 720 }),
);

const refundLimit = described(
  'The total of an order, in its currency, above which a refund takes a sign-in of the last five minutes (RFC 9470), which API keys ' +
    'and machines never have. Without it there is no limit.',
  optional(integer('COMMERCE_REFUND_LIMIT', { min: 0, max: 1_000_000_000 })),
  '1000',
);

export const settings = {
  ...resourceSettings('commerce'),
  usersUrl: serviceUrlSetting('users'),
  maxPendingOrders,
  pendingOrderHours,
  refundLimit,
};

export const DEFAULT_MAX_PENDING_ORDERS = maxPendingOrders.read(undefined);
export const DEFAULT_PENDING_ORDER_HOURS = pendingOrderHours.read(undefined);

/** Reads the settings of the commerce process; throws a SettingsError. */
export function readCommerceConfig(env: NodeJS.ProcessEnv) {
  return readSettings(settings, env);
}

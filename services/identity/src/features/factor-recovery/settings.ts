import { described, integer } from '@gatehouse/core/config';

export const factorRecoverySettings = {
  recoveryWaitHours: described(
    'How many hours people who know their password wait before a mailed link removes a lost authenticator app and recovery codes. With 0, ' +
      'only an admin can remove them.',
    integer('RECOVERY_WAIT_HOURS', { min: 0, max: 720, default: 72 }),
  ),
};

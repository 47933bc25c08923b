import { described, integer } from '@gatehouse/core/config';

export const factorRecoverySettings = {
  recoveryWaitHours: described(
    'For how many hours people wait who know their password and have lost their authenticator app and recovery codes, before a mailed link ' +
      'removes these. With 0, only an admin does.',
    integer('RECOVERY_WAIT_HOURS', { min: 0, max: 720, default: 72 }),
  ),
};

/** The pages of the account, and where they are. */
export const ACCOUNT_PAGES = {
  profile: '/account',
  picture: '/account/picture',
  /** Below it are the pictures themselves, which anybody gets who knows their URLs. */
  pictures: '/account/pictures',
  export: '/account/export',
  deleteAccount: '/account/delete',
  password: '/account/password',
  removePassword: '/account/password/remove',
  applications: '/account/applications',
  sessions: '/account/sessions',
  verification: '/account/verify-email',
};

/** Takes from all own applications what they can authenticate by. */
export const END_CREDENTIALS = '/account/applications/end-credentials';

/** Ends everything that acts for the person. */
export const REVOKE_ACCESS = '/account/applications/revoke-access';

/** The page on how an account is signed in to, to which features add parts. */
export const SECURITY = '/account/security';

/** What the form of an application is filled with. */
export type ApplicationValues = {
  name: string;
  redirectUris: string;
  postLogoutRedirectUris: string;
  backchannelLogoutUri: string;
  scopes: readonly string[];
  dpopBound: boolean;
  pushedRequests: boolean;
  idTokenAlgorithm: string;
  legacyImplicit: boolean;
  /** A JWK set as JSON; empty for none. */
  jwks: string;
  /** Empty for none. */
  securityProfile: string;
};

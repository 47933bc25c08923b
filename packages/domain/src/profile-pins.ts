/**
 * The API profiles that an application can pin where several share a path, by the name under which the pin travels in
 * its tokens and API keys. The first one is what a deployment answers with unless it is set otherwise.
 */
export const PROFILE_PINS = {
  v1_users: ['A', 'E', 'G'],
  v2_users: ['B2', 'B1'],
  items: ['offset', 'cursor'],
  /** `updated_at` of /userinfo as a text, or as OpenID Connect Core §5.1 has it. */
  userinfo: ['interface', 'openid'],
} as const;

export type ProfilePins = typeof PROFILE_PINS;
export type Pin = keyof ProfilePins;

/** The properties of the tokens of a common issuer. */
export type Preset = {
  /** The issuer, or what a URL of it looks like. */
  issuer: string;
  algorithms: readonly string[];
  /** Whether it hands out the same token more than once. */
  reusesTokens: boolean;
  /** An example of a subject. */
  subject: string;
  /** The claims that rules usually name. */
  claims: readonly string[];
};

export const PRESETS = {
  // https://docs.github.com/en/actions/reference/security/oidc
  github: {
    issuer: 'https://token.actions.githubusercontent.com',
    algorithms: ['RS256'],
    reusesTokens: false,
    subject: 'repo:acme/shop:ref:refs/heads/main',
    claims: ['repository', 'repository_id', 'ref', 'environment', 'workflow_ref'],
  },
  // https://docs.gitlab.com/ci/secrets/id_token_authentication/
  gitlab: {
    issuer: 'https://gitlab.com',
    algorithms: ['RS256'],
    reusesTokens: false,
    subject: 'project_path:acme/shop:ref_type:branch:ref:main',
    claims: ['project_path', 'project_id', 'ref', 'ref_protected', 'environment'],
  },
  // https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/: a projected token is read from its file again and again.
  kubernetes: {
    issuer: 'https://kubernetes.default.svc.cluster.local',
    algorithms: ['RS256', 'ES256'],
    reusesTokens: true,
    subject: 'system:serviceaccount:shop:worker',
    claims: [],
  },
  // https://cloud.google.com/compute/docs/instances/verifying-instance-identity: the metadata server keeps a token for an hour.
  google: {
    issuer: 'https://accounts.google.com',
    algorithms: ['RS256'],
    reusesTokens: true,
    subject: '112233445566778899000',
    claims: ['email', 'azp'],
  },
  // https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_providers_outbound.html
  aws: {
    issuer: 'https://{uuid}.tokens.sts.global.api.aws',
    algorithms: ['RS256', 'ES384'],
    reusesTokens: false,
    subject: 'arn:aws:iam::123456789012:role/worker',
    claims: [],
  },
  // https://learn.microsoft.com/entra/identity-platform/access-token-claims-reference: an identity gets the same token until it is about to expire.
  azure: {
    issuer: 'https://login.microsoftonline.com/{tenant}/v2.0',
    algorithms: ['RS256'],
    reusesTokens: true,
    subject: '00000000-0000-0000-0000-000000000000',
    claims: ['tid', 'azp', 'oid'],
  },
  // https://github.com/spiffe/spiffe/blob/main/standards/JWT-SVID.md: agents cache them.
  spiffe: {
    issuer: 'spiffe://{trust-domain}',
    algorithms: ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512'],
    reusesTokens: true,
    subject: 'spiffe://example.org/ns/shop/sa/worker',
    claims: [],
  },
} as const satisfies Record<string, Preset>;
export type PresetName = keyof typeof PRESETS;
export const PRESET_NAMES = Object.keys(PRESETS) as PresetName[];

import { type Content, html } from '@gatehouse/web/html';
import type { Application } from '../../../api/application-types.ts';
import { Code, indented, sh, yaml } from './sample.ts';

/** A workload that asks for a token as an application, by the token that its platform gives it. */
export type Workload = {
  base: string;
  application: Application;
  subject: string;
  /** The issuer of the platform's token, or its SPIFFE trust domain. */
  issuer: string;
  /** The `aud` of the platform's token. */
  audience: string;
};

/** A platform that gives its workloads tokens. */
type Platform = {
  title: string;
  text: string;
  /** The issuer of its tokens, where all have the same. */
  issuer: string;
  /** The way to find the issuer, or another one. */
  hint?: Content;
  /** Whether a workload gets the same token more than once. */
  reuses?: boolean;
  /** The subjects that only its tokens have. */
  subjects?: RegExp;
  /** The issuers that only it has. */
  issuers?: RegExp;
  /** How a workload asks this deployment for a token: the code by where it belongs. */
  files(workload: Workload): Readonly<Record<string, Code>>;
};

/** The shell commands that ask for a token, with a token of the platform in ASSERTION. */
function tokenRequest({ base, application, issuer }: Workload): Code {
  // draft-ietf-oauth-spiffe-client-auth §3.1.
  const assertionType = issuer.startsWith('spiffe:') ? 'jwt-spiffe' : 'jwt-bearer';
  const { client_id: clientId, scopes, type, redirect_uris: uris } = application;
  const grant =
    type === 'web'
      ? sh`-d grant_type=authorization_code -d code="$CODE" --data-urlencode redirect_uri=${uris[0] ?? ''}`
      : sh`-d grant_type=client_credentials --data-urlencode scope=${scopes.join(' ')}`;
  return sh`RESPONSE=$(curl -sSf ${`${base}/oauth2/token`} -d client_id=${clientId} \\
  ${grant} \\
  -d client_assertion_type=urn:ietf:params:oauth:client-assertion-type:${new Code(assertionType)} \\
  -d client_assertion="$ASSERTION") || exit 1
TOKEN=$(printf %s "$RESPONSE" | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`;
}

/** For a platform whose token is had by a command. */
const byCommand =
  (command: (workload: Workload) => Code): Platform['files'] =>
  (workload) => ({
    'Shell of the workload': sh`ASSERTION=$(${command(workload)})
${tokenRequest(workload)}`,
  });

/** The platforms whose tokens are known, and any other. */
export const PLATFORMS = {
  github: {
    title: 'GitHub Actions',
    text: 'Jobs of workflows at GitHub.',
    issuer: 'https://token.actions.githubusercontent.com',
    subjects: /^repo:/,
    files: (workload) => ({
      '.github/workflows/deploy.yaml': yaml`jobs:
  deploy:
    runs-on: ubuntu-latest
    permissions:
      id-token: write
      contents: read
    steps:
      - run: |
          ASSERTION=$(curl -sSf "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=${new Code(encodeURIComponent(workload.audience))}" \\
            -H "Authorization: Bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN" | jq -r .value)
          ${indented(tokenRequest(workload), 10)}
          echo "::add-mask::$TOKEN"`,
    }),
  },
  gitlab: {
    title: 'GitLab',
    text: 'CI jobs at gitlab.com, or at your own GitLab.',
    issuer: 'https://gitlab.com',
    hint: 'For your own GitLab, enter its URL.',
    subjects: /^project_path:/,
    files: (workload) => ({
      '.gitlab-ci.yml': yaml`deploy:
  id_tokens:
    ASSERTION:
      aud: ${workload.audience}
  script:
    - |
      ${indented(tokenRequest(workload), 6)}`,
    }),
  },
  kubernetes: {
    title: 'Kubernetes',
    text: 'Pods, by the tokens of their service accounts.',
    issuer: '',
    hint: html`The issuer of the cluster, as this command prints it: <code>kubectl get --raw /.well-known/openid-configuration</code>`,
    reuses: true,
    subjects: /^system:serviceaccount:/,
    files: (workload) => ({
      'Specification of the pod': yaml`serviceAccountName: ${workload.subject.split(':')[3]?.replace('*', '') || 'default'}
containers:
  - name: worker
    volumeMounts:
      - name: gatehouse
        mountPath: /var/run/secrets/gatehouse
volumes:
  - name: gatehouse
    projected:
      sources:
        - serviceAccountToken:
            path: token
            audience: ${workload.audience}`,
      ...byCommand(() => sh`cat /var/run/secrets/gatehouse/token`)(workload),
    }),
  },
  google: {
    title: 'Google Cloud',
    text: 'Virtual machines and services, by the tokens of their service accounts.',
    issuer: 'https://accounts.google.com',
    reuses: true,
    files: byCommand(
      ({ audience }) => sh`curl -s -G -H 'Metadata-Flavor: Google' --data-urlencode audience=${audience} \\
  http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/identity`,
    ),
  },
  aws: {
    title: 'AWS',
    text: 'Functions, containers and virtual machines with an IAM role.',
    issuer: '',
    hint: html`<code>https://….tokens.sts.global.api.aws</code>, as this command prints it: <code>aws iam get-outbound-web-identity-federation-info</code>`,
    subjects: /^arn:aws/,
    files: byCommand(
      ({ audience }) => sh`aws sts get-web-identity-token --audience ${audience} \\
  --signing-algorithm RS256 --query WebIdentityToken --output text`,
    ),
  },
  azure: {
    title: 'Azure',
    text: 'Virtual machines and services, by their managed identities.',
    issuer: '',
    hint: html`<code>https://login.microsoftonline.com/{tenant ID}/v2.0</code>, or <code>https://sts.windows.net/{tenant ID}/</code> for tokens of version 1. The claim <code>iss</code> of a token says which.`,
    reuses: true,
    issuers: /^https:\/\/(?:login\.microsoftonline\.com|sts\.windows\.net)\//,
    files: byCommand(
      ({
        audience,
      }) => sh`curl -s -G -H Metadata:true -d api-version=2018-02-01 --data-urlencode resource=${audience} \\
  http://169.254.169.254/metadata/identity/oauth2/token | jq -r .access_token`,
    ),
  },
  spiffe: {
    title: 'SPIFFE',
    text: 'Workloads with JWT-SVIDs, such as those that SPIRE issues.',
    issuer: '',
    hint: html`The trust domain, as <code>spiffe://example.org</code>; the URL of its bundle is then entered below. Or the claim <code>iss</code> of the JWT-SVIDs: <code>jwt_issuer</code> in the configuration of a SPIRE server. It cannot be changed later.`,
    reuses: true,
    subjects: /^spiffe:/,
    files: byCommand(
      ({ audience }) =>
        sh`spire-agent api fetch jwt -audience ${audience} -output json | jq -r '.[0].svids[0].svid'`,
    ),
  },
  other: {
    title: 'Another issuer',
    text: 'Any issuer of signed tokens (JWT), also one for the people of an organization.',
    issuer: '',
    hint: html`The claim <code>iss</code> of its tokens, exactly as it is there.`,
    files: byCommand(() => sh`cat token.jwt`),
  },
} as const satisfies Record<string, Platform>;
export type PlatformName = keyof typeof PLATFORMS;

/** The platform that gives tokens of an issuer and a subject, as far as these say. */
export function platformOf(rule: { issuer: string; subject: string }): Platform {
  const all: readonly Platform[] = Object.values(PLATFORMS);
  const found = all.find(
    ({ issuer, issuers, subjects }) =>
      issuer === rule.issuer || issuers?.test(rule.issuer) || subjects?.test(rule.subject),
  );
  return found ?? PLATFORMS.other;
}

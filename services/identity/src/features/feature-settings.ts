import { auditExportSettings } from './audit-export/settings.ts';
import { logoutSettings } from './backchannel-logout/settings.ts';
import { metadataDocumentSettings } from './client-metadata-documents/settings.ts';
import { factorRecoverySettings } from './factor-recovery/settings.ts';
import { identityProviderSettings } from './identity-providers/settings.ts';
import { loginSettings } from './login/settings.ts';
import { oauthSettings } from './oauth/settings.ts';
import { passkeySettings } from './passkeys/settings.ts';
import { registrationSettings } from './registration/settings.ts';
import { resourceSettings } from './resources/settings.ts';
import { sharedSignalSettings } from './shared-signals/settings.ts';
import { trustedIssuerSettings } from './trusted-issuers/settings.ts';
import { wellKnownSettings } from './well-known/settings.ts';

/** The settings of all features. The values of each are what its config has. */
export const featureSettings = {
  ...auditExportSettings,
  ...oauthSettings,
  ...loginSettings,
  ...logoutSettings,
  ...identityProviderSettings,
  ...metadataDocumentSettings,
  ...passkeySettings,
  ...registrationSettings,
  ...resourceSettings,
  ...factorRecoverySettings,
  ...sharedSignalSettings,
  ...trustedIssuerSettings,
  ...wellKnownSettings,
};

// Signals to password managers what has changed (WebAuthn Level 3, “Signal Credential Changes to the Authenticator”).
const { rpId, userId, name, displayName, accepted } = JSON.parse(
  document.querySelector('[data-passkey-signals]').dataset.passkeySignals,
);
const { signalCurrentUserDetails, signalAllAcceptedCredentials } = window.PublicKeyCredential ?? {};
signalCurrentUserDetails?.call(PublicKeyCredential, { rpId, userId, name, displayName }).catch(() => {});
if (accepted !== undefined) {
  signalAllAcceptedCredentials
    ?.call(PublicKeyCredential, { rpId, userId, allAcceptedCredentialIds: accepted })
    .catch(() => {});
}

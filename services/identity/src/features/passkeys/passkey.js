// Makes a passkey, or signs in with one: `data-options` of the field says with what, and its form is sent with the result.
const field = document.querySelector('input[data-passkey]');
const { form } = field;
const kind = field.dataset.passkey;
const failure = form.querySelector('[data-other]');
const passwordPart = form.querySelector('[data-password-part]');
/** How long somebody waits for a passkey that they have not asked for. */
const UPGRADE_MS = 2000;
let pending;

/** Calls the authenticator in place of a call that may still wait. */
async function call(more = {}) {
  pending?.abort();
  pending = new AbortController();
  const { signal } = pending;
  const options = JSON.parse(field.dataset.options);
  if (kind === 'get') {
    return navigator.credentials.get({
      publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
      signal,
      ...more,
    });
  }
  if (kind === 'sign-up') {
    const { username, name } = form.elements;
    options.user.name = username.value.trim();
    options.user.displayName = name.value.trim() || options.user.name;
  }
  return navigator.credentials.create({
    publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
    signal,
    ...more,
  });
}

function send(credential) {
  field.value = JSON.stringify(credential);
  form.submit();
}

function show({ name }) {
  if (name === 'AbortError') return;
  const { duplicate, other } = failure.dataset;
  failure.textContent = name === 'InvalidStateError' ? duplicate : other;
  failure.hidden = false;
}

/** Offers passkeys in the list of the username field, where the browser can. */
async function offer() {
  if (await PublicKeyCredential.isConditionalMediationAvailable?.()) {
    await call({ mediation: 'conditional' }).then(send, () => {});
  }
}

/** Notes for the server, for some seconds, that the browser creates passkeys without asking. */
function noteCapability(seconds) {
  const secure = location.protocol === 'https:' ? '; secure' : '';
  // biome-ignore lint/suspicious/noDocumentCookie: few browsers have the Cookie Store API.
  document.cookie = `gatehouse_creates_passkeys=yes; path=/sign-in; max-age=${seconds}; samesite=lax${secure}`;
}

/** Lets the browser create a passkey without asking, and goes on soon, with or without one. */
async function upgrade() {
  setTimeout(() => pending.abort(), UPGRADE_MS);
  await call({ mediation: 'conditional' }).then(send, () => form.submit());
}

/** Shows one of the two ways to create an account. The fields of the other are neither checked nor sent. */
function choose(isPassword) {
  for (const it of form.querySelectorAll('[data-passkey-part]')) it.hidden = isPassword;
  if (passwordPart === null) return;
  passwordPart.hidden = !isPassword;
  for (const it of passwordPart.querySelectorAll('input')) it.disabled = !isPassword;
}

if (kind === 'upgrade') upgrade();
else if (window.PublicKeyCredential?.parseCreationOptionsFromJSON) {
  if (kind === 'get') {
    PublicKeyCredential.getClientCapabilities?.().then((it) => it.conditionalCreate && noteCapability(600));
  }
  const hasChosenPassword = passwordPart?.querySelector('.field-problem') != null;
  choose(hasChosenPassword);
  form.querySelector('[data-use-password]')?.addEventListener('click', () => {
    choose(true);
    noteCapability(0);
    passwordPart.querySelector('input').focus();
  });
  document.querySelector('[data-no-passkey]')?.remove();
  // Otherwise the browser keeps offering it.
  const { unknown, options } = field.dataset;
  if (unknown !== undefined) {
    const { rp } = JSON.parse(options);
    PublicKeyCredential.signalUnknownCredential?.({ rpId: rp.id, credentialId: unknown }).catch(() => {});
  }
  form.addEventListener('submit', async (event) => {
    if (passwordPart?.hidden === false) return;
    event.preventDefault();
    failure.hidden = true;
    await call().then(send, (error) => {
      show(error);
      if (kind === 'get') offer();
    });
  });
  // After a failure, wait for the click.
  if (kind === 'get' && document.querySelector('.alert') === null) offer();
}

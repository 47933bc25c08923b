// Makes a passkey, or signs in with one: `data-options` of the field says with what, and its form is sent with the result.
const field = document.querySelector('input[data-passkey]');
const { form } = field;
const isNew = field.dataset.passkey === 'create';
const failure = form.querySelector('[data-other]');
let pending;

/** Calls the authenticator in place of a call that may still wait. */
async function call(more = {}) {
  pending?.abort();
  pending = new AbortController();
  const { signal } = pending;
  const options = JSON.parse(field.dataset.options);
  if (isNew) {
    return navigator.credentials.create({
      publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
      signal,
    });
  }
  return navigator.credentials.get({
    publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
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

if (window.PublicKeyCredential?.parseCreationOptionsFromJSON) {
  for (const it of form.querySelectorAll('[data-passkey-part]')) it.hidden = false;
  document.querySelector('[data-no-passkey]')?.remove();
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    failure.hidden = true;
    await call().then(send, (error) => {
      show(error);
      if (!isNew) offer();
    });
  });
  // Not again by itself what has just failed.
  if (!isNew && document.querySelector('.alert') === null) offer();
}

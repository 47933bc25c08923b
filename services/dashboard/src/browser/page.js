// Small helps for pages that work without them.

/** Buttons that copy the text of another element; without a script they are hidden. */
function offerCopies(root) {
  for (const button of root.querySelectorAll('button[data-copy]')) {
    button.hidden = false;
  }
}

document.addEventListener('click', async (event) => {
  const button = event.target.closest?.('button[data-copy]');
  const source = button && document.getElementById(button.dataset.copy);
  if (source) {
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(source.textContent.trim());
      button.textContent = 'Copied';
    } catch {
      getSelection()?.selectAllChildren(source);
      button.textContent = 'Selected';
    }
    setTimeout(() => {
      button.textContent = label;
    }, 2000);
  }
  // The menu closes when something else is clicked.
  for (const menu of document.querySelectorAll('details.menu[open]')) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return;
  for (const menu of document.querySelectorAll('details.menu[open]')) {
    menu.open = false;
    menu.querySelector('summary')?.focus();
  }
});

// A form is sent once; its buttons work again after a while, in case the browser was stopped, and when the page is returned to.
const SENT_MS = 10_000;
function enableButtons() {
  for (const button of document.querySelectorAll('form[method=post] button')) button.disabled = false;
}
document.addEventListener('submit', ({ target: form }) => {
  if (form.method !== 'post') return;
  for (const button of form.querySelectorAll('button')) button.disabled = true;
  setTimeout(enableButtons, SENT_MS);
});
addEventListener('pageshow', enableButtons);

// Where a part of the page cannot be loaded, what is shown stays, and says that it may be out of date.
const STALE = 'This could not be loaded just now. What you see may be out of date.';
function sayStale(target) {
  if (!target?.isConnected || target.previousElementSibling?.matches('.stale')) return;
  const message = document.createElement('p');
  message.className = 'alert stale';
  message.role = 'alert';
  message.textContent = STALE;
  target.before(message);
}
for (const name of ['htmx:responseError', 'htmx:sendError', 'htmx:timeout']) {
  document.addEventListener(name, ({ detail }) => sayStale(detail.target));
}
document.addEventListener('htmx:beforeSwap', ({ detail }) => {
  const { shouldSwap, target, requestConfig, serverResponse } = detail;
  if (!shouldSwap) return;
  const part = requestConfig.elt.getAttribute('hx-select');
  const isThere =
    part === null ||
    new DOMParser().parseFromString(serverResponse, 'text/html').querySelector(part) !== null;
  if (!isThere) {
    detail.shouldSwap = false;
    sayStale(target);
  } else if (target.previousElementSibling?.matches('.stale')) target.previousElementSibling.remove();
});
// What is loaded anew every few seconds stays as it is while nobody looks, or while something in it is unfolded.
document.addEventListener('htmx:beforeRequest', (event) => {
  const { elt } = event.detail;
  if (!elt.getAttribute('hx-trigger')?.startsWith('every')) return;
  if (document.hidden || elt.querySelector('details[open]')) event.preventDefault();
});
// What loads anew by itself does not keep an unattended session.
document.addEventListener('htmx:configRequest', ({ detail: { elt, headers } }) => {
  if (elt.getAttribute('hx-trigger')?.startsWith('every')) headers['X-Polling'] = 'true';
});
document.addEventListener('htmx:load', (event) => offerCopies(event.detail.elt));
offerCopies(document);

// Small helps for pages that work without them.

/** Buttons that copy the text of another element or add a field, and fields that filter boxes; without a script they are hidden. */
function offerHelps(root) {
  for (const help of root.querySelectorAll('button[data-copy], [data-filter], [data-another]'))
    help.hidden = false;
}

document.addEventListener('input', ({ target }) => {
  const choice = target.closest('[data-filter]')?.parentElement;
  if (!choice) return;
  const text = target.value.trim().toLowerCase();
  for (const box of choice.querySelectorAll('.check')) {
    box.hidden = !`${box.textContent} ${box.dataset.words ?? ''}`.toLowerCase().includes(text);
  }
  for (const group of choice.querySelectorAll('.group')) {
    group.hidden = group.querySelector('.check:not([hidden])') === null;
    group.open = text !== '' || group.querySelector(':checked') !== null;
  }
  const none = choice.querySelector('[data-none]');
  if (none) none.hidden = choice.querySelector('.check:not([hidden])') !== null;
});
// A further field with the same name, below the last one.
document.addEventListener('click', ({ target }) => {
  const row = target.closest?.('[data-another]');
  if (!row) return;
  const field = row.previousElementSibling.cloneNode(true);
  const input = field.querySelector('input');
  const { another: name } = row.dataset;
  input.id = `${name}-${document.getElementsByName(name).length}`;
  input.value = '';
  field.querySelector('label').htmlFor = input.id;
  row.before(field);
  input.focus();
});
// Enter would send the form.
document.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && event.target.closest?.('[data-filter]')) event.preventDefault();
});

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

// Ctrl-K, or Cmd-K on a Mac, leads to the search in the header; the arrow keys lead through its results, and Escape closes them.
const IS_MAC = /Mac|iP/.test(navigator.platform);
const searchField = document.querySelector('.bar-search input');
if (searchField && matchMedia('(hover: hover)').matches) {
  searchField.placeholder = IS_MAC ? 'Search (⌘K)' : 'Search (Ctrl K)';
}
document.addEventListener('keydown', (event) => {
  const { key, ctrlKey, metaKey, altKey, shiftKey, target } = event;
  const isShortcut = key?.toLowerCase() === 'k' && (IS_MAC ? metaKey && !ctrlKey : ctrlKey && !metaKey);
  if (searchField && isShortcut && !altKey && !shiftKey) {
    event.preventDefault();
    searchField.focus();
    searchField.select();
  }
  const results = target.closest?.('.bar-search')?.querySelector('.bar-results');
  if (!results) return;
  const step = { ArrowDown: 1, ArrowUp: -1 }[key];
  if (step) {
    const stops = [searchField, ...results.querySelectorAll('a')];
    const next = stops[stops.indexOf(target) + step];
    if (next) event.preventDefault();
    next?.focus();
  } else if (key === 'Escape' && results.hasChildNodes()) {
    event.preventDefault();
    results.replaceChildren();
    searchField.focus();
  }
});

// The documentation shows results while you type. Its pages have no htmx, which is larger than most of them.
const docsResults = document.querySelector('[data-docs-results]');
let docsSearch;
docsResults?.closest('form').addEventListener('input', async ({ currentTarget: form }) => {
  docsSearch?.abort();
  docsSearch = new AbortController();
  const { signal } = docsSearch;
  const target = document.querySelector('#found') ?? docsResults;
  await new Promise((resolve) => setTimeout(resolve, 200));
  if (signal.aborted) return;
  if (searchField.value.trim() === '') return target.replaceChildren();
  try {
    const response = await fetch(`${form.action}?${new URLSearchParams(new FormData(form))}`, { signal });
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    if (!signal.aborted) target.replaceChildren(...page.querySelectorAll('#found > *'));
  } catch {
    if (!signal.aborted) target.textContent = NOT_SEARCHED;
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
document.addEventListener('submit', ({ target: form, submitter }) => {
  if (form.method !== 'post') return;
  // A disabled button is not sent: its value is, in a field of its own.
  form.querySelector('input[data-submitter]')?.remove();
  if (submitter?.name) {
    const chosen = Object.assign(document.createElement('input'), { type: 'hidden' });
    Object.assign(chosen, { name: submitter.name, value: submitter.value });
    chosen.dataset.submitter = '';
    form.append(chosen);
  }
  for (const button of form.querySelectorAll('button')) button.disabled = true;
  setTimeout(enableButtons, SENT_MS);
});
addEventListener('pageshow', enableButtons);

// A file that is too large is not sent: what stands before the services would refuse it without a page.
document.addEventListener('change', ({ target }) => {
  const most = Number(target.dataset.maxBytes);
  if (!most) return;
  const isTooLarge = target.files[0]?.size > most;
  target.setCustomValidity(isTooLarge ? `The file is larger than ${most / 1024 ** 2} MiB.` : '');
  if (isTooLarge) target.reportValidity();
});

// Where a part of the page cannot be loaded, what is shown stays, and says that it may be out of date.
const STALE = 'This page could not be refreshed. The data below may be out of date.';
const NOT_SEARCHED = 'The results could not be loaded. Press Enter to search again.';
function sayStale(target) {
  if (target?.matches('.bar-results')) {
    target.textContent = NOT_SEARCHED;
    return;
  }
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
// A part that is refreshed every few seconds stays as it is while the page is hidden, or while something in it is unfolded or read by its values.
document.addEventListener('htmx:beforeRequest', (event) => {
  const { elt } = event.detail;
  if (!elt.getAttribute('hx-trigger')?.startsWith('every')) return;
  const isRead = elt.querySelector('details[open], .canvas:is(:focus, :hover)') !== null;
  if (document.hidden || isRead) event.preventDefault();
});
// An automatic refresh does not keep an unattended session alive.
document.addEventListener('htmx:configRequest', ({ detail: { elt, headers } }) => {
  if (elt.getAttribute('hx-trigger')?.startsWith('every')) headers['X-Polling'] = 'true';
});

// Times come in the zone that was chosen, else in that of the browser, which later pages know from a cookie.
const zone = document.documentElement.dataset.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
document.documentElement.dataset.timeZone = zone;
function showTimes(root) {
  const format = (timeStyle) =>
    new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle, timeZone: zone });
  const formats = { minute: format('short'), second: format('medium') };
  const full = format('long');
  for (const time of root.querySelectorAll('time.moment:not([data-precision=day])')) {
    const date = new Date(time.dateTime);
    time.textContent = formats[time.dataset.precision].format(date);
    time.title = full.format(date);
  }
}
const zoneName = document.querySelector('.time-zone span');
if (zoneName && zoneName.textContent !== zone) {
  zoneName.textContent = zone;
  const secure = location.protocol === 'https:' ? '; Secure' : '';
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in some browsers.
  document.cookie = `gatehouse_browser_zone=${zone}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
}

document.addEventListener('htmx:load', ({ detail: { elt } }) => {
  offerHelps(elt);
  showTimes(elt);
});
offerHelps(document);
showTimes(document);

// A strip of links that scrolls begins at the current one.
for (const current of document.querySelectorAll('.tabs [aria-current], .side-open [aria-current]')) {
  const list = current.closest('.tabs, .side-open');
  const [outer, inner] = [list.getBoundingClientRect(), current.getBoundingClientRect()];
  list.scrollBy(
    inner.left - outer.left - (outer.width - inner.width) / 2,
    inner.top - outer.top - outer.height / 2,
  );
}

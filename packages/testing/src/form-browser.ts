/** A form on a page, with the values that are already filled in. */
export type Form = { action: string; fields: Record<string, string>; html: string };

/** A page, or the URL to which a redirect left the site (its status is then 0 and its html empty). */
export type Page = { url: URL; status: number; html: string; headers: Headers };

export type FormBrowser = {
  /** Follows redirects within the site and stops at the first that leads elsewhere. */
  get(url: string): Promise<Page>;
  /** Submits the page's first form, or the one whose markup contains `which`; `fields` replace the form's values. */
  submit(page: Page, fields: Record<string, string | File>, which?: string): Promise<Page>;
  /** Follows the page's link whose address contains `link`, and confirms what is asked there (packages/web/src/confirmation.ts). */
  confirm(page: Page, link: string, fields?: Record<string, string>): Promise<Page>;
  /** The cookies that would be sent to a path. */
  cookies(path: string): Map<string, string>;
};

type Cookie = { name: string; value: string; path: string };

/** The part of a browser that plain pages need: cookies, redirects and forms, but no scripts. It sends `headers` each time. */
export function createFormBrowser(base: string, headers: Readonly<Record<string, string>> = {}): FormBrowser {
  const jar = new Map<string, Cookie>();
  const { origin } = new URL(base);

  function storeCookies(received: Headers, url: URL): void {
    for (const line of received.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
      const name = pair.slice(0, pair.indexOf('='));
      const value = pair.slice(pair.indexOf('=') + 1);
      const attribute = (key: string) =>
        attributes.find((it) => it.toLowerCase().startsWith(`${key}=`))?.slice(key.length + 1);
      const path = attribute('path') ?? url.pathname.replace(/\/[^/]*$/, '') ?? '/';
      const expires = attribute('expires');
      const isExpired =
        attribute('max-age') === '0' || (expires !== undefined && Date.parse(expires) < Date.now());
      if (isExpired || value === '') jar.delete(`${name} ${path}`);
      else jar.set(`${name} ${path}`, { name, value, path });
    }
  }

  function cookies(path: string): Map<string, string> {
    const matching = [...jar.values()].filter(
      (it) => path === it.path || it.path === '/' || path.startsWith(`${it.path.replace(/\/$/, '')}/`),
    );
    return new Map(matching.map(({ name, value }) => [name, value]));
  }

  async function request(method: string, address: string, body?: URLSearchParams | FormData): Promise<Page> {
    let url = new URL(address, base);
    let send: { method: string; body: typeof body } = { method, body };
    for (let hops = 0; hops < 20; hops += 1) {
      if (url.origin !== origin) return { url, status: 0, html: '', headers: new Headers() };
      const pairs = [...cookies(url.pathname)].map(([name, value]) => `${name}=${value}`);
      // Those that a script would have set come first.
      const cookie = [...(headers.cookie === undefined ? [] : [headers.cookie]), ...pairs].join('; ');
      const response = await fetch(url, {
        method: send.method,
        redirect: 'manual',
        headers: {
          accept: 'text/html',
          ...headers,
          ...(cookie === '' ? {} : { cookie }),
        },
        ...(send.body === undefined ? {} : { body: send.body }),
      });
      storeCookies(response.headers, url);
      const location = response.headers.get('location');
      const html = await response.text();
      if (location === null) return { url, status: response.status, html, headers: response.headers };
      url = new URL(location, url);
      send = { method: 'GET', body: undefined };
    }
    throw new Error(`more than twenty redirects, at ${url}`);
  }

  function submit(page: Page, fields: Record<string, string | File>, which?: string): Promise<Page> {
    const form = formsOf(page.html).find(({ html }) => which === undefined || html.includes(which));
    if (form === undefined) throw new Error(`there is no such form at ${page.url}:\n${page.html}`);
    const target = new URL(form.action, page.url).href;
    const sent = Object.entries({ ...form.fields, ...fields });
    const body = /<form[^>]* enctype="multipart\/form-data"/.test(form.html)
      ? new FormData()
      : new URLSearchParams();
    for (const [name, value] of sent) {
      if (body instanceof FormData) body.set(name, value);
      else body.set(name, String(value));
    }
    return request('POST', target, body);
  }

  return {
    cookies,
    get: (url) => request('GET', url),
    submit,
    async confirm(page, link, fields = {}) {
      const addresses = [...page.html.matchAll(/<a\b([^>]*)>/g)].map(([, text = '']) =>
        attributeOf(text, 'href'),
      );
      const address = addresses.find((href) => href?.includes(link));
      if (address === undefined) throw new Error(`there is no link to ${link} at ${page.url}:\n${page.html}`);
      return submit(await request('GET', new URL(address, page.url).href), fields, 'name="confirmation"');
    },
  };
}

/** The forms of a page, with the values of their inputs. */
export function formsOf(html: string): Form[] {
  return [...html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)].map(
    ([whole, attributes = '', content = '']) => {
      const inputs = [...content.matchAll(/<input\b([^>]*)>/g)].map(([, text = '']) => text);
      const fields = inputs.flatMap((text) => {
        const name = attributeOf(text, 'name');
        const isUnticked = /\btype="(?:checkbox|radio)"/.test(text) && !/\schecked\b/.test(text);
        return name === undefined || isUnticked ? [] : [[name, attributeOf(text, 'value') ?? ''] as const];
      });
      return {
        action: attributeOf(attributes, 'action') ?? '',
        fields: Object.fromEntries(fields),
        html: whole,
      };
    },
  );
}

function attributeOf(text: string, name: string): string | undefined {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(text)?.[1];
  return value && unescapeHtml(value);
}

/** The text of escaped HTML without tags. */
export function unescapeHtml(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

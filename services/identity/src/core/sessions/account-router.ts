import { isConfirmed } from '@gatehouse/web/confirmation';
import type { PageForm } from '@gatehouse/web/form';
import { translated } from '@gatehouse/web/language';
import Router from '@koa/router';
import type { Context } from 'koa';
import type { AccountFrame, AccountSection } from '../../pages/account/account-document.ts';
import { accountQuestionPage, type Question } from '../../pages/account/confirmation-pages.ts';
import { accentPalettes, brandPalettes, paletteStyles } from '../../pages/colours.ts';
import { CsrfError, type CsrfForms } from '../../pages/csrf-forms.ts';
import { seeOther, sendPage, setPageHeaders } from '../../pages/page-response.ts';
import { signedOutPage } from '../../pages/sign-out-pages.ts';
import { passwordScript, stylesheet } from '../../pages/stylesheet.ts';
import type { Text } from '../../texts/texts.ts';
import { ACCOUNT_CLIENT } from '../oidc/clients/client-metadata.ts';
import { SIGN_UP } from '../oidc/provider-options.ts';
import type { BrowserSessions, SignedIn } from './browser-sessions.ts';
import type { SecondFactorRequirement } from './second-factor-requirement.ts';
import type { SecondFactors } from './second-factors.ts';

/** Where the account begins. */
const PROFILE = '/account';
/** How old a sign-in may be, in seconds, for what gives lasting access to the account. */
export const FRESH_SECONDS = 300;

/** The dependencies of every account page. */
export type AccountPage = {
  signedIn: SignedIn;
  frame: AccountFrame;
  form(action: string, hidden?: PageForm['hidden']): PageForm;
};

/** The subjects of the sections of the navigation, in their order. */
const SUBJECTS = ['person', 'sign-in', 'sign-in method', 'sessions', 'applications', 'data'] as const;

/** A section of the navigation, which is always shown unless it says otherwise. */
export type AccountPageSection = AccountSection & {
  label: Text;
  subject: (typeof SUBJECTS)[number];
  isShown?(): boolean;
};

/** Routes that only somebody who is signed in can use. */
export type AccountRouter = {
  router: Router;
  /**
   * A page; anybody who is not signed in is sent to sign in first. `notices` are what it says of what has just been done, by
   * the name of that in the query.
   */
  get(
    path: string,
    show: (ctx: Context, page: AccountPage) => Promise<void> | void,
    notices?: Readonly<Record<string, Text>>,
  ): void;
  /**
   * Whether the person has signed in within the last five minutes, and proved a second factor if the account has one by now.
   * Otherwise the browser is sent to sign in again, and from there to this page, and the request is answered.
   */
  isFresh(ctx: Context, signedIn: SignedIn, page: string): Promise<boolean>;
  /** A form. `action` returns the page to go to, or undefined when it has answered itself. */
  post(
    path: string,
    action: (ctx: Context, signedIn: SignedIn, fields: Map<string, string>) => Promise<string | undefined>,
  ): void;
  /** A form with a file in the field `file`. A file of more than `maxBytes` is undefined; do nothing then, since its CSRF token may be unchecked. */
  postFile(
    path: string,
    maxBytes: number,
    action: (ctx: Context, signedIn: SignedIn, file: Buffer | undefined) => Promise<string | undefined>,
  ): void;
  /**
   * An act that cannot be undone: GET asks and changes nothing; POST acts if the response came with it, and asks again
   * otherwise. `act` returns the page to go to, or undefined when it has answered itself. `fields`: of the form that was sent.
   * `fresh`: for somebody who has signed in within the last five minutes.
   */
  confirmed(
    path: string,
    current: string,
    ask: (
      ctx: Context,
      signedIn: SignedIn,
      fields?: ReadonlyMap<string, string>,
    ) => Promise<Question & { act(): Promise<string | undefined> }>,
    options?: { fresh?: boolean },
  ): void;
  page(ctx: Context, signedIn: SignedIn): AccountPage;
};

type Factors = { list(userId: string): Promise<readonly { id: string }[]> };

/** The router of the account pages, with the stylesheet and the redirects of signing in and out. */
export function createAccountRouter(options: {
  issuer: string;
  sessions: BrowserSessions;
  secondFactors: Pick<SecondFactors, 'of'>;
  forms: CsrfForms;
  secondFactorRequirement: Pick<SecondFactorRequirement, 'isOwed'>;
  /** Whether people may create accounts for themselves. */
  signUp: boolean;
  factors: readonly Factors[];
  /** Read when a page is shown. */
  sections: readonly AccountPageSection[];
}): AccountRouter {
  const { sessions, forms, secondFactorRequirement, sections } = options;
  const router = new Router({ sensitive: true });
  /** To which a sign-in may lead back. */
  const paths = new Set<string>();
  const contextOf = ({ session }: SignedIn) => `account ${session.uid}`;
  addAssets(router);

  const askToSignIn = (ctx: Context, page: string, more?: Record<string, string>) =>
    redirectToSignIn(ctx, `${options.issuer}/account/signed-in`, page, more);
  addSignInRoutes(router, { paths, askToSignIn, signUp: options.signUp });

  /** The account that is signed in, with the second factor if it needs one and has one. */
  async function find(ctx: Context): Promise<SignedIn | undefined> {
    const signedIn = await sessions.find(ctx);
    if (signedIn === undefined) return undefined;
    return (await secondFactorRequirement.isOwed(signedIn.account, signedIn.session)) ? undefined : signedIn;
  }

  async function requireSignedIn(ctx: Context): Promise<SignedIn> {
    const signedIn = await find(ctx);
    if (signedIn === undefined) throw new CsrfError();
    return signedIn;
  }

  function page(ctx: Context, signedIn: SignedIn, done?: Text): AccountPage {
    const form: AccountPage['form'] = (action, hidden = {}) =>
      forms.form(ctx, { action, hidden, context: contextOf(signedIn) });
    const { username } = signedIn.account;
    const notice = done && translated(done);
    const frame = {
      ...{ username, notice, signOut: form('/account/sign-out') },
      sections: sections
        .filter(({ isShown }) => isShown?.() ?? true)
        .toSorted((a, b) => SUBJECTS.indexOf(a.subject) - SUBJECTS.indexOf(b.subject))
        .map(({ path, label }) => ({ path, label: translated(label) })),
    };
    return { signedIn, form, frame };
  }

  function answer<T>(
    path: string,
    read: (ctx: Context, context: string) => Promise<T>,
    action: (ctx: Context, signedIn: SignedIn, sent: T) => Promise<string | undefined>,
  ): void {
    router.post(path, async (ctx) => {
      const sent = await read(ctx, contextOf(await requireSignedIn(ctx)));
      // Again, as the session may have ended, and the account changed, while the form was on its way.
      const next = await action(ctx, await requireSignedIn(ctx), sent);
      if (next !== undefined) seeOther(ctx, next);
    });
  }

  const pages: AccountRouter = {
    router,
    page,
    async isFresh(ctx, signedIn, page) {
      const isFresh = await isProvedRecently(signedIn, options);
      // Not by max_age, about which oidc-provider and another replica's clock could disagree with this, and send the browser in circles.
      if (!isFresh) askToSignIn(ctx, page, { prompt: 'login' });
      return isFresh;
    },
    get(path, show, notices = {}) {
      const returnTo = listOf(path);
      paths.add(returnTo);
      router.get(path, async (ctx) => {
        const signedIn = await find(ctx);
        if (signedIn === undefined) askToSignIn(ctx, returnTo);
        else {
          const name = String(ctx.query.done);
          await show(ctx, page(ctx, signedIn, Object.hasOwn(notices, name) ? notices[name] : undefined));
        }
      });
    },
    post: (path, action) => answer(path, forms.read, action),
    postFile: (path, maxBytes, action) =>
      answer(path, (ctx, context) => forms.readFile(ctx, context, maxBytes), action),
    confirmed(path, current, ask, { fresh = false } = {}) {
      const isStale = async (ctx: Context, signedIn: SignedIn) =>
        fresh && !(await pages.isFresh(ctx, signedIn, listOf(path)));
      const show = (ctx: Context, { frame, form }: AccountPage, question: Question, refused: boolean) => {
        const html = accountQuestionPage({ question, frame, current, refused, form: form(ctx.path) });
        sendPage(ctx, html, { status: refused || question.problem !== undefined ? 400 : 200 });
      };
      pages.get(path, async (ctx, shown) => {
        if (!(await isStale(ctx, shown.signedIn))) show(ctx, shown, await ask(ctx, shown.signedIn), false);
      });
      pages.post(path, async (ctx, signedIn, fields) => {
        if (await isStale(ctx, signedIn)) return undefined;
        const question = await ask(ctx, signedIn, fields);
        const isAccepted = isConfirmed(fields.get('confirmation'), question);
        if (isAccepted && question.problem === undefined) return question.act();
        show(ctx, page(ctx, signedIn), question, !isAccepted);
        return undefined;
      });
    },
  };
  return pages;
}

/** The page to return to after a sign-in: of a page about one thing, the list that it is in. */
function listOf(path: string): string {
  const parameter = path.indexOf('/:');
  return parameter === -1 ? path : path.slice(0, parameter);
}

function sendAsset(ctx: Context, text: string, type = 'text/css'): void {
  ctx.type = `${type}; charset=utf-8`;
  ctx.set('cache-control', 'public, max-age=31536000, immutable');
  ctx.body = text;
}

function addAssets(router: Router): void {
  router.get(stylesheet.path, (ctx) => sendAsset(ctx, stylesheet.text));
  router.get(passwordScript.path, (ctx) => sendAsset(ctx, passwordScript.text, 'text/javascript'));
  for (const [path, palettesOf] of [
    ['/account/brand/:file', brandPalettes],
    ['/account/accent/:file', accentPalettes],
  ] as const) {
    // The derived colours depend on the colour in the path alone.
    router.get(path, (ctx, next) => {
      const [, name] = /^([\da-f]{6})\.css$/.exec(ctx.params.file ?? '') ?? [];
      return name === undefined ? next() : sendAsset(ctx, paletteStyles(palettesOf(`#${name}`)));
    });
  }
}

/** Sends a browser to sign in, and back to the page. `more` goes into the authorization request. */
function redirectToSignIn(
  ctx: Context,
  redirectUri: string,
  page: string,
  more: Record<string, string> = {},
): void {
  setPageHeaders(ctx);
  const query = new URLSearchParams({
    client_id: ACCOUNT_CLIENT,
    response_type: 'none',
    redirect_uri: redirectUri,
    scope: 'openid',
    state: page,
    ...(typeof ctx.query.ui_locales === 'string' ? { ui_locales: ctx.query.ui_locales } : {}),
    ...more,
  });
  seeOther(ctx, `/oauth2/authorize?${query}`);
}

async function isProvedRecently(
  { session, account }: SignedIn,
  { factors, secondFactors }: { factors: readonly Factors[]; secondFactors: Pick<SecondFactors, 'of'> },
): Promise<boolean> {
  const { isUnconfirmed = false, passkey } = session.device ?? {};
  // A person who removes a passkey may have lost it to somebody who has signed in with it.
  const isRemoved = passkey !== undefined && !(await isFactor(factors, account.id, passkey));
  const isRecent =
    !isUnconfirmed && !isRemoved && Date.now() / 1000 - Number(session.loginTs) <= FRESH_SECONDS;
  return (
    isRecent && (session.amr?.includes('mfa') === true || (await secondFactors.of(account.id)).length === 0)
  );
}

async function isFactor(kinds: readonly Factors[], userId: string, id: string): Promise<boolean> {
  const factors = await Promise.all(kinds.map(({ list }) => list(userId)));
  return factors.flat().some((it) => it.id === id);
}

/** The pages before a sign-in, and after one and a sign-out. */
function addSignInRoutes(
  router: Router,
  options: {
    paths: ReadonlySet<string>;
    signUp: boolean;
    askToSignIn(ctx: Context, page: string, more?: Record<string, string>): void;
  },
): void {
  const { paths, askToSignIn } = options;
  if (options.signUp) {
    router.get('/account/sign-up', (ctx) => askToSignIn(ctx, PROFILE, { [SIGN_UP]: 'yes' }));
  }

  router.get('/account/signed-in', (ctx) => {
    const page = String(ctx.query.state);
    setPageHeaders(ctx);
    const known = paths.has(page) ? page : PROFILE;
    seeOther(ctx, ctx.query.error === undefined ? known : '/account/signed-out');
  });

  router.get('/account/signed-out', (ctx) => {
    const isRevoked = ctx.query.done === 'access_revoked';
    sendPage(ctx, signedOutPage({ links: { signIn: PROFILE }, isRevoked }));
  });
}

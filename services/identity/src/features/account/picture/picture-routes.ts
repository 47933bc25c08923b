import { ServiceError } from '@gatehouse/core/errors';
import type { Context } from 'koa';
import { originOf } from '../../../core/audit/audit.ts';
import type { AccountPage, AccountRouter } from '../../../core/sessions/account-router.ts';
import { formProblems } from '../../../pages/page-errors.ts';
import { sendPage } from '../../../pages/page-response.ts';
import { ACCOUNT_PAGES } from '../account-pages.ts';
import { MAX_UPLOAD_BYTES, PICTURE_TYPE } from './picture.ts';
import { type PictureModel, pictureForms, picturePage } from './picture-page.ts';
import type { PictureStore } from './picture-store.ts';
import type { Pictures } from './pictures.ts';

/** The headers of a picture. Its URL is never that of another one. A document that a browser made of it could do nothing. */
const HEADERS = {
  'cache-control': 'public, max-age=31536000, immutable',
  'content-security-policy': "default-src 'none'; sandbox",
  // Applications show it on their own pages.
  'cross-origin-resource-policy': 'cross-origin',
};

/** Errors that are shown in the form, as the person can correct them. */
const CORRECTABLE = new Set(['invalid', 'rate_limited']);

/**
 * The routes to upload, remove and read pictures. Reading one takes its URL and no session. Returns the forms, which are part of the
 * profile.
 */
export function addPictureRoutes(
  { router, get, post, postFile, page }: AccountRouter,
  { pictures, store }: { pictures: Pictures; store: Pick<PictureStore, 'findByToken'> },
): (page: AccountPage) => ReturnType<typeof pictureForms> {
  const modelOf = ({ form, signedIn: { account } }: AccountPage, problem?: string): PictureModel => ({
    problems: problem === undefined ? [] : [{ field: 'file', message: problem }],
    ...{ upload: form(ACCOUNT_PAGES.picture), remove: form(`${ACCOUNT_PAGES.picture}/remove`) },
    ...{ picture: account.picture, path: pictures.pathOf(account) },
  });
  const show = (ctx: Context, shown: AccountPage, status = 200, problem?: string) =>
    sendPage(ctx, picturePage(shown.frame, modelOf(shown, problem)), { status });

  get(ACCOUNT_PAGES.picture, (ctx, shown) => show(ctx, shown));

  postFile(ACCOUNT_PAGES.picture, MAX_UPLOAD_BYTES, async (ctx, signedIn, file) => {
    if (file === undefined) {
      const problem = 'The picture has more than 256 kB. Choose a smaller one.';
      show(ctx, page(ctx, signedIn), 413, problem);
      return undefined;
    }
    try {
      await pictures.upload(signedIn.account, file, { origin: originOf(ctx) });
      return `${ACCOUNT_PAGES.profile}?done=picture_saved`;
    } catch (error) {
      if (!(error instanceof ServiceError) || !CORRECTABLE.has(error.kind)) throw error;
      ctx.set(error.headers);
      show(ctx, page(ctx, signedIn), error.status, formProblems(error)[0]?.message);
      return undefined;
    }
  });

  post(`${ACCOUNT_PAGES.picture}/remove`, async (ctx, { account }) => {
    await pictures.remove(account, { origin: originOf(ctx) });
    return `${ACCOUNT_PAGES.profile}?done=picture_removed`;
  });

  router.get(`${ACCOUNT_PAGES.pictures}/:token`, async (ctx) => {
    const found = await store.findByToken(String(ctx.params.token));
    if (found === undefined) throw new ServiceError('not_found', 'There is no such picture.');
    ctx.set(HEADERS);
    ctx.type = PICTURE_TYPE;
    ctx.body = Buffer.from(found.bytes);
  });

  return (shown) => pictureForms(modelOf(shown));
}

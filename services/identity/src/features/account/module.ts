import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { PASSWORD_CHANGED, RECOVERY_USED } from '../../core/accounts/account-notices.ts';
import type { PersonalDataSection } from '../../core/extensions.ts';
import type { Ports } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { addAccessRoutes } from './access/access-routes.ts';
import { createOwnApplications } from './access/own-applications.ts';
import { ACCOUNT_PAGES } from './account-pages.ts';
import { createAccountService } from './account-service.ts';
import { addDeletionRoutes } from './deletion.ts';
import { accountSections } from './export/account-sections.ts';
import { addExportRoutes } from './export/export-routes.ts';
import { serviceLists } from './export/service-lists.ts';
import { passwordPart } from './password-page.ts';
import { PICTURE_TYPE } from './picture/picture.ts';
import { pictureApi } from './picture/picture-api.ts';
import { addPictureRoutes } from './picture/picture-routes.ts';
import { createPictureStore, type PictureStore } from './picture/picture-store.ts';
import { createPictures } from './picture/pictures.ts';
import { addProfileRoutes } from './profile-routes.ts';
import { recoveryRoutes } from './recovery/recovery-routes.ts';
import { undoRoutes } from './recovery/undo-routes.ts';
import { addVerificationRoutes } from './recovery/verification-routes.ts';

/** The pages on which people manage their account, and those that mailed links lead to. */
export function account(
  core: Ports<'accounts' | 'applications' | 'sessions' | 'tokens' | 'pages'>,
): IdentityModule {
  const { throttle, sessions, extensions, authorizedApplications: authorized, accountPages: pages } = core;
  const { applicationKeys, access: sources } = extensions;
  const own = createOwnApplications({ ...core, applicationKeys, sources });
  const pictureStore = createPictureStore(core.connection);
  const pictures = createPictures({ ...core, store: pictureStore });
  addProfileRoutes(pages, {
    picture: addPictureRoutes(pages, { pictures, store: pictureStore }),
    ...{ ...core, sessions, own, account: createAccountService(core) },
    savedParts: extensions.savedProfileParts,
  });
  addDeletionRoutes(pages, { ...core, auditDays: core.config.auditDays });
  const { itemsUrl: items, commerceUrl: commerce, notificationsUrl: notifications } = core.config;
  const personalData: PersonalDataSection[] = [
    { name: 'picture', rows: ({ id }) => uploadedPicture(pictureStore, id) },
    ...accountSections({ ...core, factors: extensions.factors, programs: extensions.programs, authorized }),
    ...serviceLists({ ...core, ...core.signing, urls: omitUndefined({ items, commerce, notifications }) }),
  ];
  addExportRoutes(pages, { ...core, sections: extensions.personalData });
  addVerificationRoutes(pages, core);
  addAccessRoutes(pages, {
    ...core,
    own,
    sources,
    programs: extensions.programs,
    applications: authorized,
  });
  const removable = {
    credentials: extensions.credentials,
    secondFactorSources: extensions.secondFactors,
    undoableChanges: extensions.undoableChanges,
  };
  const countRequest = (address: string) => throttle.countMail({ address });
  return {
    apis: [pictureApi({ ...core, pictures })],
    routers: [
      pages.router,
      recoveryRoutes({ ...core, ...removable, own, countRequest }),
      undoRoutes({ ...core, ...removable }),
    ],
    pages: ['/account'],
    extensions: {
      personalData,
      erasers: [pictureStore.remove],
      undoableChanges: [PASSWORD_CHANGED, RECOVERY_USED],
      accountSections: [
        { path: ACCOUNT_PAGES.profile, label: 'Profile', subject: 'person' },
        { path: ACCOUNT_PAGES.password, label: 'Password', subject: 'sign-in method' },
        { path: ACCOUNT_PAGES.sessions, label: 'Sessions', subject: 'sessions' },
        { path: ACCOUNT_PAGES.applications, label: 'Applications', subject: 'applications' },
        { path: ACCOUNT_PAGES.export, label: 'Download your data', subject: 'data' },
      ],
      securityParts: [
        {
          title: 'Password',
          content: async ({ signedIn }) => passwordPart(await core.accounts.hasPassword(signedIn.account.id)),
        },
      ],
    },
  };
}

/** The section of an export with the picture that the person has uploaded. */
async function* uploadedPicture(store: Pick<PictureStore, 'findByUser'>, userId: string) {
  const found = await store.findByUser(userId);
  if (found === undefined) return;
  const data = Buffer.from(found.bytes).toString('base64');
  yield { content_type: PICTURE_TYPE, uploaded_at: found.createdAt, data };
}

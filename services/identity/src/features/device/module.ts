import { requestInfo } from '@gatehouse/server/requests';
import Router from '@koa/router';
import type { Context } from 'koa';
import type { Configuration, ErrorOut, Interaction, KoaContextWithOIDC } from 'oidc-provider';
import Provider, { errors } from 'oidc-provider';
import { originOf } from '../../core/audit/audit.ts';
import { DEVICE_CODE_SECONDS } from '../../core/limits/bounds.ts';
import type { ProviderAccount } from '../../core/oidc/claims/provider-account.ts';
import { isFirstParty } from '../../core/oidc/clients/client-metadata.ts';
import { isRequestForFreshSignIn } from '../../core/oidc/prompts.ts';
import type { RequestDetails } from '../../core/oidc/provider-options.ts';
import { ROUTES } from '../../core/oidc/provider-routes.ts';
import type { Ports } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { CsrfError } from '../../pages/csrf-forms.ts';
import { sendPage } from '../../pages/page-response.ts';
import { clientRequest } from '../oauth/client-request.ts';
import {
  connectedPage,
  type DeviceRequest,
  deviceRequestDetails,
  enterCodePage,
  isUserCodeProblem,
  notConnectedPage,
  TYPED_CODE,
  verifyCodePage,
} from './device-pages.ts';

const PATH = ROUTES.code_verification;
/** The longest user code that is shown again, in characters. */
const MAX_SHOWN = 20;
/** How oidc-provider describes a form that is not from this session. */
const NOT_OUR_FORM = /^(?:xsrf token invalid|could not find device form details)$/;

/** The stored facts about the device that made a request. */
type DeviceInfo = { address: string; userAgent: string };
type DeviceCode = {
  iat?: number;
  deviceInfo?: DeviceInfo;
  accountId?: string;
  error?: string;
  isExpired: boolean;
};
type DeviceCodes = { find(id: string, ...options: unknown[]): Promise<DeviceCode | undefined> };

/**
 * Devices without a browser (RFC 8628): the device shows a code, which its owner enters here in a browser, sees what asked
 * for it, signs in, and allows it.
 */
export function device(core: Ports<'accounts' | 'tokens' | 'pages'>): IdentityModule {
  const { audit, forms, notices, pageErrors, store } = core;
  const codes = () => (core.provider.current() as unknown as { DeviceCode: DeviceCodes }).DeviceCode;

  async function showEnterCode(ctx: KoaContextWithOIDC, _form: string, out?: ErrorOut, error?: Error) {
    if (error?.name === 'AbortedError') return sendPage(ctx, notConnectedPage());
    const problem = error?.name;
    if (error !== undefined && !isUserCodeProblem(problem)) {
      if (NOT_OUR_FORM.test(String(out?.error_description))) return pageErrors.show(ctx, new CsrfError());
      return pageErrors.providerError(ctx, out ?? { error: 'server_error' }, error);
    }
    const userCode =
      (error as { userCode?: string } | undefined)?.userCode ?? String(ctx.state.userCode ?? '');
    const html = enterCodePage({
      form: forms.form(ctx, {
        action: PATH,
        hidden: { xsrf: xsrfOf(ctx), ...(userCode !== '' && !problem ? { linked: 'yes' } : {}) },
      }),
      userCode: userCode.slice(0, MAX_SHOWN),
      problem: isUserCodeProblem(problem) ? problem : undefined,
    });
    sendPage(ctx, html, { status: problem === undefined ? 200 : 400 });
  }

  function configure(configuration: Configuration & { features: object }): void {
    Object.assign(configuration.ttl ?? {}, { DeviceCode: DEVICE_CODE_SECONDS });
    Object.assign(configuration.features, {
      deviceFlow: {
        enabled: true,
        // Without vowels and digits: nothing that looks alike, and no words (RFC 8628 §6.1).
        charset: 'base-20',
        mask: '****-****',
        deviceInfo: (ctx: Context): DeviceInfo => ({
          address: requestInfo(ctx.req).address,
          userAgent: ctx.get('user-agent').slice(0, 200),
        }),
        userCodeInputSource: showEnterCode,
        userCodeConfirmSource(
          ctx: KoaContextWithOIDC,
          _form: string,
          client: { clientName?: string; clientId: string },
          _deviceInfo: unknown,
          userCode: string,
        ) {
          const code = ctx.oidc.entities.DeviceCode as unknown as DeviceCode;
          const ofOurs = isFirstParty(client.clientId);
          // It can do whatever the person can: a link that somebody has sent must not be enough (RFC 8628 §5.4).
          const isShown = !ofOurs || ctx.state.isLinked !== true;
          const hidden = { xsrf: xsrfOf(ctx), user_code: userCode, confirm: 'yes' };
          const html = verifyCodePage({
            form: forms.form(ctx, { action: PATH, hidden }),
            application: client.clientName ?? client.clientId,
            isFirstParty: ofOurs,
            userCode: isShown ? userCode : undefined,
            request: requestOf(ctx, code),
          });
          sendPage(ctx, html);
        },
        async successSource(ctx: KoaContextWithOIDC) {
          const { session, client, entities } = ctx.oidc;
          const { clientId = '', clientName = clientId } = client ?? {};
          const { deviceInfo } = entities.DeviceCode as unknown as DeviceCode;
          keepAuthorization(session, clientId);
          await audit.record({
            action: 'device.connected',
            origin: originOf(ctx),
            client: clientId,
            subject: session?.accountId ?? '',
            details: { address: deviceInfo?.address },
          });
          if (isFirstParty(clientId)) {
            const { account } = entities.Account as ProviderAccount;
            await notices.signedIn(account, { origin: { ...originOf(ctx), ...deviceInfo }, isKnown: false });
          }
          sendPage(ctx, connectedPage({ application: clientName }));
        },
      },
    });
  }

  const requestDetails: RequestDetails = async (ctx, { deviceCode }: Interaction) => {
    const code =
      deviceCode === undefined ? undefined : await codes().find(deviceCode, { ignoreExpiration: true });
    return code && deviceRequestDetails(requestOf(ctx, code));
  };

  const router = new Router({ sensitive: true });
  // oidc-provider would send the code on by itself: the person compares it first (RFC 8628 §3.3.1).
  router.get(PATH, (ctx, next) => {
    const { user_code: userCode, ...query } = ctx.query;
    ctx.state.userCode = inAscii(String(userCode ?? ''));
    ctx.query = query;
    return next();
  });
  router.post(PATH, clientRequest({ accepts: ['form'], path: PATH, isPage: true, prepare: readUserCode }));
  return {
    routers: [router],
    pages: [PATH],
    passwordPaths: [PATH],
    extensions: {
      provider: [{ configure, attach: slowDown(store) }, { attach: dateAskedSignIns }],
      requestDetails: [requestDetails],
    },
  };
}

/** Tells a device that asks too often to wait longer (RFC 8628 §3.5), which oidc-provider does not. */
function slowDown(store: Pick<Ports<'tokens'>['store'], 'polled'>) {
  return ({ DeviceCode }: { DeviceCode: unknown }): void => {
    const model = DeviceCode as DeviceCodes;
    const { find } = model;
    model.find = async function findWaiting(id, ...rest) {
      const code = await find.call(this, id, ...rest);
      const isPolling = Provider.ctx?.oidc.route === 'token';
      const isDecided = code?.accountId !== undefined || code?.error !== undefined;
      if (code !== undefined && isPolling && !isDecided && !code.isExpired && (await store.polled(id))) {
        throw new errors.CustomOIDCProviderError('slow_down', 'the device asks too often');
      }
      return code;
    };
  };
}

/** Replaces the code in the link by the one that the person has typed. */
function readUserCode(ctx: Context, form: URLSearchParams): void {
  ctx.state.isLinked = form.has('linked');
  const typed = form.get(TYPED_CODE);
  if (typed !== null && !form.has('abort')) form.set('user_code', typed);
  const userCode = form.get('user_code');
  if (userCode !== null) form.set('user_code', inAscii(userCode));
}

/**
 * Tokens of the command line count as a fresh sign-in only if it asked for one (`max_age`). A recent sign-in in the browser was for
 * something else.
 */
function dateAskedSignIns({ Session: { prototype } }: Provider): void {
  const { authTime } = prototype;
  prototype.authTime = function timeOf() {
    const { DeviceCode, Client: client } = Provider.ctx?.oidc.entities ?? {};
    const { params } = (DeviceCode ?? {}) as { params?: Interaction['params'] };
    const isUnasked = params !== undefined && !isRequestForFreshSignIn(params);
    return isUnasked && isFirstParty(client?.clientId ?? '') ? undefined : authTime.call(this);
  };
}

function requestOf(ctx: Context, { iat = 0, deviceInfo }: DeviceCode): DeviceRequest {
  const { address = '', userAgent = '' } = deviceInfo ?? {};
  return {
    at: new Date(iat * 1000),
    address,
    userAgent,
    isSameAddress: address === requestInfo(ctx.req).address,
  };
}

/** A code as some keyboards type it, with full-width letters, in those that it is made of. */
const inAscii = (userCode: string) => userCode.normalize('NFKC');

function xsrfOf({ oidc }: KoaContextWithOIDC): string {
  return String((oidc.session?.state as { secret?: string } | undefined)?.secret);
}

/** The device has a grant of its own: what the session knows of the same application is not about it. */
function keepAuthorization(session: unknown, clientId: string): void {
  const { authorizations = {}, knownAuthorizations = {} } = session as {
    authorizations?: Record<string, unknown>;
    knownAuthorizations?: Record<string, unknown>;
  };
  if (Object.hasOwn(knownAuthorizations, clientId)) authorizations[clientId] = knownAuthorizations[clientId];
  else delete authorizations[clientId];
}

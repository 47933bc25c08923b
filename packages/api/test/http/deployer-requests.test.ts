import type { Caller } from '@gatehouse/tokens/caller';
import t from 'tap';
import { requireDeployerRequest } from '../../src/http/deployer-requests.ts';

const DEPLOYER = { actors: ['app_pipeline'], scopes: new Set(['manage:apps']) } as unknown as Caller;
const isAllowed = (method: string, path: string, caller = DEPLOYER) => {
  try {
    requireDeployerRequest(caller, method, path);
    return true;
  } catch {
    return false;
  }
};

t.test('a deployer makes the requests of a configuration file, and no others', async (t) => {
  const cases: [isAllowed: boolean, method: string, path: string][] = [
    [true, 'GET', '/api/v1/applications'],
    [true, 'POST', '/api/v1/applications'],
    [true, 'PATCH', '/api/v1/applications/app_shop'],
    [true, 'DELETE', '/api/v1/identity-providers/acme'],
    [true, 'POST', '/api/v1/applications/app_shop/federated-credentials'],
    [true, 'POST', '/api/v1/configuration/lease'],
    [true, 'GET', '/api/v1/applications/app_pipeline'],
    [true, 'GET', '/api/v1/applications/app_shop/members'],
    [false, 'GET', '/api/v1/applications/app_shop/users'],
    [false, 'GET', '/api/v1/resources/rsr_1/revocations'],
    [false, 'PATCH', '/api/v1/applications/app_pipeline'],
    [false, 'POST', '/api/v1/applications/app_pipeline/federated-credentials'],
    [false, 'POST', '/api/v1/applications/app_shop/secrets'],
    [false, 'POST', '/api/v1/applications/app_shop/api-keys'],
    [false, 'PUT', '/api/v1/applications/app_shop/deployer'],
    [false, 'POST', '/api/v1/applications/app_shop/members'],
    [false, 'POST', '/api/v1/configuration/tokens'],
    [false, 'POST', '/api/v1/factors/set-up-links'],
    [false, 'DELETE', '/api/v1/factors/fct_1'],
    [false, 'DELETE', '/api/v1/sessions'],
    [false, 'POST', '/api/v1/password-resets'],
    [false, 'POST', '/api/v1/impersonations'],
    [false, 'POST', '/api/v1/invitations'],
    [false, 'POST', '/api/v1/registration-tokens'],
    [false, 'POST', '/api/v1/signing-keys/rotate'],
    [false, 'POST', '/api/v1/users/usr_1/revocations'],
    [false, 'GET', '/api/v1/audit'],
    [false, 'HEAD', '/api/v1/applications'],
    [true, 'GET', '/v2/users'],
    [true, 'GET', '/v1/users/usr_1'],
    [false, 'PUT', '/v1/users/usr_1/role'],
    [true, 'POST', '/api/v1/webhooks'],
    [true, 'PATCH', '/api/v1/webhooks/whk_1'],
    [false, 'POST', '/api/v1/webhooks/whk_1/rotate'],
    [false, 'GET', '/api/v1/webhooks/whk_1/deliveries'],
    [false, 'GET', '/api/v1/events'],
    [false, 'GET', '/api/v1/requests'],
    [false, 'GET', '/v2/orders'],
    [false, 'PUT', '/api/v1/queues/messages/email'],
    [false, 'POST', '/v2/notifications'],
  ];
  for (const [expected, method, path] of cases)
    t.equal(isAllowed(method, path), expected, `${method} ${path}`);
});

t.test('people, and agents without the scope of our own pages, are not restricted', async (t) => {
  const person = { scopes: new Set(['manage:apps']) } as unknown as Caller;
  const agent = { actors: ['app_agent'], scopes: new Set(['read:data']) } as unknown as Caller;
  for (const caller of [person, agent]) t.ok(isAllowed('POST', '/api/v1/factors/set-up-links', caller));
});

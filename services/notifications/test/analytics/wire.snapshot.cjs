/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > admin: GET /api/v1/analytics?metric=errors&from=<time>&to=<time> 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ metric: 'errors', from: '<time>', to: '<time>', interval: 'hour', as_of: '<time>', total: 1, data: [ { at: '<time>', value: 1 }, { at: '<time>', value: 0 } ] }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > admin: GET /api/v1/analytics?metric=latency_p95&from=<time>&to=<time> 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ metric: 'latency_p95', from: '<time>', to: '<time>', interval: 'hour', as_of: '<time>', total: 91, data: [ { at: '<time>', value: 91 }, { at: '<time>', value: null } ] }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > admin: GET /api/v1/analytics?metric=logins&from=<time>&to=<time> 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ metric: 'logins', from: '<time>', to: '<time>', interval: 'hour', as_of: '<time>', total: 0, data: [ { at: '<time>', value: 0 }, { at: '<time>', value: 0 } ] }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > admin: GET /api/v1/analytics?metric=orders&group_by=status&from=<time>&to=<time> 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ metric: 'orders', from: '<time>', to: '<time>', interval: 'hour', as_of: '<time>', total: 2, data: [ { at: '<time>', value: 2, status: 'pending' }, { at: '<time>', value: 0, status: 'pending' } ], group_by: 'status', totals: [ { value: 2, status: 'pending' } ] }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > admin: GET /api/v1/analytics?metric=requests&client_id=app_a&group_by=status&from=<time>&to=<time> 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{
  metric: 'requests',
  from: '<time>',
  to: '<time>',
  interval: 'hour',
  as_of: '<time>',
  total: 8,
  data: [ { at: '<time>', value: 6, status: '2xx' }, { at: '<time>', value: 1, status: '4xx' }, { at: '<time>', value: 1, status: '5xx' }, { at: '<time>', value: 0, status: '2xx' }, { at: '<time>', value: 0, status: '4xx' }, { at: '<time>', value: 0, status: '5xx' } ],
  group_by: 'status',
  totals: [ { value: 6, status: '2xx' }, { value: 1, status: '4xx' }, { value: 1, status: '5xx' } ]
}
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > admin: GET /api/v1/analytics?metric=requests&from=<time>&to=<time> 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ metric: 'requests', from: '<time>', to: '<time>', interval: 'hour', as_of: '<time>', total: 10, data: [ { at: '<time>', value: 10 }, { at: '<time>', value: 0 } ] }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > admin: GET /api/v1/analytics?metric=requests&group_by=client_id&from=<time>&to=<time> 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{
  metric: 'requests',
  from: '<time>',
  to: '<time>',
  interval: 'hour',
  as_of: '<time>',
  total: 10,
  data: [ { at: '<time>', value: 8, client_id: 'app_a' }, { at: '<time>', value: 2, client_id: 'app_b' }, { at: '<time>', value: 0, client_id: 'app_a' }, { at: '<time>', value: 0, client_id: 'app_b' } ],
  group_by: 'client_id',
  totals: [ { value: 8, client_id: 'app_a' }, { value: 2, client_id: 'app_b' } ]
}
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > admin: GET /api/v1/analytics?metric=requests&group_by=route&from=<time>&to=<time> 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{
  metric: 'requests',
  from: '<time>',
  to: '<time>',
  interval: 'hour',
  as_of: '<time>',
  total: 10,
  data: [ { at: '<time>', value: 8, route: 'GET /items' }, { at: '<time>', value: 2, route: 'POST /items' }, { at: '<time>', value: 0, route: 'GET /items' }, { at: '<time>', value: 0, route: 'POST /items' } ],
  group_by: 'route',
  totals: [ { value: 8, route: 'GET /items' }, { value: 2, route: 'POST /items' } ]
}
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > admin: GET /api/v1/analytics?metric=revenue&from=<time>&to=<time> 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{
  metric: 'revenue',
  from: '<time>',
  to: '<time>',
  interval: 'hour',
  as_of: '<time>',
  total: null,
  data: [ { at: '<time>', value: 900, currency: 'JPY' }, { at: '<time>', value: 12.5, currency: 'USD' }, { at: '<time>', value: 0, currency: 'JPY' }, { at: '<time>', value: 0, currency: 'USD' } ],
  group_by: 'currency',
  totals: [ { value: 900, currency: 'JPY' }, { value: 12.5, currency: 'USD' } ]
}
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > machine: GET /api/v1/analytics 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{
  metrics: [
    { name: 'requests', description: 'Requests that have ended, without those between the services of Gatehouse.', unit: 'count', group_by: [ 'route', 'service', 'status', 'client_id' ] },
    { name: 'errors', description: 'Requests that were answered with a status of 500 or above.', unit: 'count', group_by: [ 'route', 'service', 'client_id' ] },
    { name: 'client_errors', description: 'Requests that were answered with a status from 400 to 499, or not waited for.', unit: 'count', group_by: [ 'route', 'service', 'client_id' ] },
    { name: 'rate_limited', description: 'Requests that were answered with the status 429, beyond a rate limit or another bound.', unit: 'count', group_by: [ 'service', 'client_id' ] },
    { name: 'latency_p50', description: 'The median time of requests.', unit: 'ms', group_by: [ 'route', 'service', 'client_id' ] },
    { name: 'latency_p95', description: 'The 95th percentile of the time of requests.', unit: 'ms', group_by: [ 'route', 'service', 'client_id' ] },
    { name: 'latency_p99', description: 'The 99th percentile of the time of requests.', unit: 'ms', group_by: [ 'route', 'service', 'client_id' ] },
    { name: 'tokens_issued', description: 'Access tokens issued.', unit: 'count', group_by: [ 'client_id' ] },
    { name: 'logins', description: 'Successful sign-ins, on the pages and by the API.', unit: 'count', group_by: [ 'method', 'client_id' ] },
    { name: 'api_key_requests', description: 'Requests with an API key, or with a token that was issued for one.', unit: 'count', group_by: [ 'api_key', 'client_id' ] },
    { name: 'agent_requests', description: 'Requests that an application, or an admin, made for a person. One of a chain of applications counts for each of them.', unit: 'count', group_by: [ 'actor' ] },
    { name: 'orders', description: 'Orders by the time they were placed, with their current status.', unit: 'count', group_by: [ 'status', 'currency' ] },
    { name: 'revenue', description: 'The revenue of orders, by the time they were placed and by currency, without cancelled and refunded orders.', unit: 'currency', group_by: [ 'currency' ] },
    { name: 'notifications', description: 'Notifications by the time they were accepted, with their current status.', unit: 'count', group_by: [ 'status', 'type' ] }
  ]
}
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > machine: GET /api/v1/analytics?metric=orders&client_id=app_a 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'client_id does not apply to orders.' }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > machine: GET /api/v1/analytics?metric=orders&group_by=route 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'group_by must be one of status, currency for orders.' }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > machine: GET /api/v1/analytics?metric=requests&from=&client_id= 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'client_id must not be empty; from must not be empty.' }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > machine: GET /api/v1/analytics?metric=requests&from=<time>&to=<time> 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'from must be before to.' }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > machine: GET /api/v1/analytics?metric=requests&from=2024-01-01&to=2024-01-02 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'from must be within the last 90 days, for which values by hour are kept.' }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > machine: GET /api/v1/analytics?metric=requests&from=2026-02-30 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'from must be a date or a time such as 2026-01-31T12:00:00Z.' }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > machine: GET /api/v1/analytics?metric=requests&from=yesterday 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'from must be a date or a time such as 2026-01-31T12:00:00Z.' }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > machine: GET /api/v1/analytics?metric=requests&group_by=colour 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'group_by must be one of route, client_id, service, status, type, currency, method, api_key, actor.' }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > machine: GET /api/v1/analytics?metric=requests&interval=day&from=2000-01-01 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'from must be at most 1000 days before to; from must be within the last 730 days, for which values by day are kept.' }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > machine: GET /api/v1/analytics?metric=requests&interval=minute&from=3000-01-01 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'from must be before now.' }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > machine: GET /api/v1/analytics?metric=requests&interval=week 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'interval must be one of minute, hour, day.' }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > machine: GET /api/v1/analytics?metric=requests&metric=errors 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'metric must be given only once.' }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > machine: GET /api/v1/analytics?metric=speed 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'metric must be one of requests, errors, client_errors, rate_limited, latency_p50, latency_p95, latency_p99, tokens_issued, logins, api_key_requests, agent_requests, orders, revenue, notifications.' }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > nobody: GET /api/v1/analytics 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: 'This needs an access token or an API key in the Authorization header.' }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > user: GET /api/v1/analytics 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{
  metrics: [
    { name: 'requests', description: 'Requests that have ended, without those between the services of Gatehouse.', unit: 'count', group_by: [ 'route', 'service', 'status', 'client_id' ] },
    { name: 'errors', description: 'Requests that were answered with a status of 500 or above.', unit: 'count', group_by: [ 'route', 'service', 'client_id' ] },
    { name: 'client_errors', description: 'Requests that were answered with a status from 400 to 499, or not waited for.', unit: 'count', group_by: [ 'route', 'service', 'client_id' ] },
    { name: 'rate_limited', description: 'Requests that were answered with the status 429, beyond a rate limit or another bound.', unit: 'count', group_by: [ 'service', 'client_id' ] },
    { name: 'latency_p50', description: 'The median time of requests.', unit: 'ms', group_by: [ 'route', 'service', 'client_id' ] },
    { name: 'latency_p95', description: 'The 95th percentile of the time of requests.', unit: 'ms', group_by: [ 'route', 'service', 'client_id' ] },
    { name: 'latency_p99', description: 'The 99th percentile of the time of requests.', unit: 'ms', group_by: [ 'route', 'service', 'client_id' ] },
    { name: 'tokens_issued', description: 'Access tokens issued.', unit: 'count', group_by: [ 'client_id' ] },
    { name: 'logins', description: 'Successful sign-ins, on the pages and by the API.', unit: 'count', group_by: [ 'method', 'client_id' ] },
    { name: 'api_key_requests', description: 'Requests with an API key, or with a token that was issued for one.', unit: 'count', group_by: [ 'api_key', 'client_id' ] },
    { name: 'agent_requests', description: 'Requests that an application, or an admin, made for a person. One of a chain of applications counts for each of them.', unit: 'count', group_by: [ 'actor' ] },
    { name: 'orders', description: 'Orders by the time they were placed, with their current status.', unit: 'count', group_by: [ 'status', 'currency' ] },
    { name: 'revenue', description: 'The revenue of orders, by the time they were placed and by currency, without cancelled and refunded orders.', unit: 'currency', group_by: [ 'currency' ] },
    { name: 'notifications', description: 'Notifications by the time they were accepted, with their current status.', unit: 'count', group_by: [ 'status', 'type' ] }
  ]
}
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > user: GET /api/v1/analytics?metric=requests&client_id=app_b&from=<time>&to=<time> 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'You see the metrics of your own applications.' }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > user: GET /api/v1/analytics?metric=requests&from=<time>&to=<time> 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ metric: 'requests', from: '<time>', to: '<time>', interval: 'hour', as_of: '<time>', total: 8, data: [ { at: '<time>', value: 8 }, { at: '<time>', value: 0 } ] }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > user: GET /api/v1/analytics?metric=revenue&from=<time>&to=<time> 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'Only editors, admins and trusted applications see revenue.' }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > analytics > writer: GET /api/v1/analytics 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse", error="insufficient_scope", scope="read:data read:all"
{ error: 'This needs the scope read:data or read:all.' }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > integrations > admin: GET /integrations 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{
  data: [
    { id: 'email', kind: 'email', name: 'SMTP', configured: false, status: 'unconfigured', checked_at: null },
    { id: 'sms', kind: 'sms', name: 'SMS gateway', configured: false, status: 'unconfigured', checked_at: null },
    { id: 'push', kind: 'push', name: 'Web Push', configured: false, status: 'unconfigured', checked_at: null },
    { id: 'metrics', kind: 'metrics', name: 'Analytics', configured: true, status: 'ok', checked_at: '<time>' },
    { id: 'queue', kind: 'queue', name: 'In this process, with jobs in MongoDB', configured: true, status: 'ok', checked_at: '<time>' },
    { id: 'database', kind: 'database', name: 'MongoDB', configured: true, status: 'ok', checked_at: '<time>' }
  ]
}
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > integrations > admin: GET /v2/integrations 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{
  data: [
    { id: 'email', kind: 'email', name: 'SMTP', configured: false, status: 'unconfigured', checked_at: null },
    { id: 'sms', kind: 'sms', name: 'SMS gateway', configured: false, status: 'unconfigured', checked_at: null },
    { id: 'push', kind: 'push', name: 'Web Push', configured: false, status: 'unconfigured', checked_at: null },
    { id: 'metrics', kind: 'metrics', name: 'Analytics', configured: true, status: 'ok', checked_at: '<time>' },
    { id: 'queue', kind: 'queue', name: 'In this process, with jobs in MongoDB', configured: true, status: 'ok', checked_at: '<time>' },
    { id: 'database', kind: 'database', name: 'MongoDB', configured: true, status: 'ok', checked_at: '<time>' }
  ]
}
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > integrations > machine: GET /integrations 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{
  data: [
    { id: 'email', kind: 'email', name: 'SMTP', configured: false, status: 'unconfigured', checked_at: null },
    { id: 'sms', kind: 'sms', name: 'SMS gateway', configured: false, status: 'unconfigured', checked_at: null },
    { id: 'push', kind: 'push', name: 'Web Push', configured: false, status: 'unconfigured', checked_at: null },
    { id: 'metrics', kind: 'metrics', name: 'Analytics', configured: true, status: 'ok', checked_at: '<time>' },
    { id: 'queue', kind: 'queue', name: 'In this process, with jobs in MongoDB', configured: true, status: 'ok', checked_at: '<time>' },
    { id: 'database', kind: 'database', name: 'MongoDB', configured: true, status: 'ok', checked_at: '<time>' }
  ]
}
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > integrations > machine: GET /v2/integrations 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{
  data: [
    { id: 'email', kind: 'email', name: 'SMTP', configured: false, status: 'unconfigured', checked_at: null },
    { id: 'sms', kind: 'sms', name: 'SMS gateway', configured: false, status: 'unconfigured', checked_at: null },
    { id: 'push', kind: 'push', name: 'Web Push', configured: false, status: 'unconfigured', checked_at: null },
    { id: 'metrics', kind: 'metrics', name: 'Analytics', configured: true, status: 'ok', checked_at: '<time>' },
    { id: 'queue', kind: 'queue', name: 'In this process, with jobs in MongoDB', configured: true, status: 'ok', checked_at: '<time>' },
    { id: 'database', kind: 'database', name: 'MongoDB', configured: true, status: 'ok', checked_at: '<time>' }
  ]
}
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > integrations > nobody: GET /integrations 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'unauthorized', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > integrations > nobody: GET /v2/integrations 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'unauthorized', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > integrations > user: GET /integrations 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'forbidden', message: 'Only editors, admins and trusted applications see integrations.' } }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > integrations > user: GET /v2/integrations 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'forbidden', message: 'Only editors, admins and trusted applications see integrations.' } }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > integrations > writer: GET /integrations 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse", error="insufficient_scope", scope="read:data read:all"
{ error: { code: 'forbidden', message: 'This needs the scope read:data or read:all.' } }
`

exports[`services/notifications/test/analytics/wire.test.ts > TAP > integrations > writer: GET /v2/integrations 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse", error="insufficient_scope", scope="read:data read:all"
{ error: { code: 'forbidden', message: 'This needs the scope read:data or read:all.' } }
`

/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`services/notifications/test/wire.test.ts > TAP > notifications > ann: GET /api/v1/notifications?filter[id]=<id 8> 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[]
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > ann: GET /api/v1/notifications/<id 7> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v1" · cache-control: private, no-cache
{ id: '<id 7>', user_id: '<id 2>', message: 'Your order has been shipped.', type: 'email', priority: 'high', status: 'queued', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > ann: GET /api/v1/notifications/<id 8> 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'There is no such notification.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > ann: GET /notifications?filter[id]=<id 6> 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [], meta: { total: 0, limit: 20, page: 1, pages: 0 } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > ann: GET /notifications/<id 5> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v1" · cache-control: private, no-cache
{ id: '<id 5>', user_id: '<id 2>', message: 'Your order has been shipped.', type: 'email', priority: 'high', status: 'queued', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > ann: GET /notifications/<id 6> 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'not_found', message: 'There is no such notification.' } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > ann: GET /v2/notifications?filter[id]=<id 3> 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [], meta: { total: 0, limit: 20, page: 1, pages: 0 } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > ann: GET /v2/notifications/<id 1> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v1" · cache-control: private, no-cache
{ id: '<id 1>', user_id: '<id 2>', message: 'Your order has been shipped.', type: 'email', priority: 'high', status: 'queued', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > ann: GET /v2/notifications/<id 3> 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'not_found', message: 'There is no such notification.' } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > ann: POST /api/v1/notifications {"user_id":"<id 2>","message":"Your order has been shipped.","type":"email","priority":"high"} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'Sending notifications is for editors, admins and trusted applications.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > ann: POST /notifications {"user_id":"<id 2>","message":"Your order has been shipped.","type":"email","priority":"high"} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'forbidden', message: 'Sending notifications is for editors, admins and trusted applications.' } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > ann: POST /v2/notifications {"user_id":"<id 2>","message":"Your order has been shipped.","type":"email","priority":"high"} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'forbidden', message: 'Sending notifications is for editors, admins and trusted applications.' } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > ann: PUT /api/v1/notifications/<id 7> {"status":"cancelled"} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'Sending notifications is for editors, admins and trusted applications.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > ann: PUT /notifications/<id 5> {"status":"cancelled"} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'forbidden', message: 'Sending notifications is for editors, admins and trusted applications.' } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > ann: PUT /v2/notifications/<id 1> {"status":"cancelled"} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'forbidden', message: 'Sending notifications is for editors, admins and trusted applications.' } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > editor: POST /api/v1/notifications {"user_id":"<id 2>","message":"Your order has been shipped.","type":"email","priority":"high"} 1`] = `
202 · content-type: application/json; charset=utf-8 · location: /api/v1/notifications/<id 7> · etag: "v1" · cache-control: no-store
{ id: '<id 7>', user_id: '<id 2>', message: 'Your order has been shipped.', type: 'email', priority: 'high', status: 'queued', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > editor: POST /notifications {"user_id":"<id 2>","message":"Your order has been shipped.","type":"email","priority":"high"} 1`] = `
202 · content-type: application/json; charset=utf-8 · location: /notifications/<id 5> · etag: "v1" · cache-control: no-store
{ id: '<id 5>', user_id: '<id 2>', message: 'Your order has been shipped.', type: 'email', priority: 'high', status: 'queued', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > editor: POST /v2/notifications {"user_id":"<id 2>","message":"Your order has been shipped.","type":"email","priority":"high"} 1`] = `
202 · content-type: application/json; charset=utf-8 · location: /v2/notifications/<id 1> · etag: "v1" · cache-control: no-store
{ id: '<id 1>', user_id: '<id 2>', message: 'Your order has been shipped.', type: 'email', priority: 'high', status: 'queued', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: DELETE /api/v1/notifications/<id 8> 1`] = `
204
(no body)
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: DELETE /api/v1/notifications/ntf_unknown 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'There is no such notification.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: DELETE /notifications/<id 6> 1`] = `
204
(no body)
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: DELETE /notifications/ntf_unknown 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'not_found', message: 'There is no such notification.' } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: DELETE /v2/notifications/<id 3> 1`] = `
204
(no body)
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: DELETE /v2/notifications/ntf_unknown 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'not_found', message: 'There is no such notification.' } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: GET /api/v1/notifications?filter[message]=x 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'filter[message] is no filter here; there are id, user_id, type, priority, status, created_at.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: GET /api/v1/notifications?limit=1&cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{
  data: [ { id: '<id 1>', user_id: '<id 2>', message: 'Your order has been shipped.', type: 'email', priority: 'low', status: 'cancelled', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' } ],
  links: { next: '/api/v1/notifications?limit=1&cursor=<cursor>' },
  meta: { totalItems: 6, itemsPerPage: 1, currentPage: 1, hasNextPage: true, hasPrevPage: false }
}
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: GET /api/v1/notifications?limit=1&sort=created_at 1`] = `
200 · content-type: application/json; charset=utf-8 · link: </api/v1/notifications?sort=created_at&limit=1&cursor=<cursor>>; rel="next" · cache-control: no-store
[ { id: '<id 1>', user_id: '<id 2>', message: 'Your order has been shipped.', type: 'email', priority: 'low', status: 'cancelled', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' } ]
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: GET /api/v1/notifications?status=lost 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'status must be one of queued, sending, sent, delivered, failed, cancelled.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: GET /api/v1/notifications?user_id=usr_nobody 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[]
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: GET /api/v1/notifications/<id 7> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v1" · cache-control: private, no-cache
{ id: '<id 7>', user_id: '<id 2>', message: 'Your order has been shipped.', type: 'email', priority: 'high', status: 'queued', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: GET /api/v1/notifications/<id 8> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v2" · cache-control: private, no-cache
{ id: '<id 8>', user_id: '<id 4>', message: 'Your order has been shipped.', type: 'push', priority: 'high', status: 'cancelled', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: GET /notifications?filter[message]=x 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'filter[message] is no filter here; there are id, user_id, type, priority, status, created_at.', details: [ { field: 'filter[message]', message: 'is no filter here; there are id, user_id, type, priority, status, created_at' } ] } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: GET /notifications?limit=1&cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{
  data: [ { id: '<id 1>', user_id: '<id 2>', message: 'Your order has been shipped.', type: 'email', priority: 'low', status: 'cancelled', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' } ],
  links: { next: '/notifications?limit=1&cursor=<cursor>' },
  meta: { totalItems: 4, itemsPerPage: 1, currentPage: 1, hasNextPage: true, hasPrevPage: false }
}
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: GET /notifications?limit=1&sort=created_at 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 1>', user_id: '<id 2>', message: 'Your order has been shipped.', type: 'email', priority: 'low', status: 'cancelled', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' } ], meta: { total: 4, limit: 1, page: 1, pages: 4 } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: GET /notifications?status=lost 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'status must be one of queued, sending, sent, delivered, failed, cancelled.', details: [ { field: 'status', message: 'must be one of queued, sending, sent, delivered, failed, cancelled' } ] } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: GET /notifications?user_id=usr_nobody 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [], meta: { total: 0, limit: 20, page: 1, pages: 0 } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: GET /notifications/<id 5> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v1" · cache-control: private, no-cache
{ id: '<id 5>', user_id: '<id 2>', message: 'Your order has been shipped.', type: 'email', priority: 'high', status: 'queued', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: GET /notifications/<id 6> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v2" · cache-control: private, no-cache
{ id: '<id 6>', user_id: '<id 4>', message: 'Your order has been shipped.', type: 'push', priority: 'high', status: 'cancelled', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: GET /v2/notifications?filter[message]=x 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'filter[message] is no filter here; there are id, user_id, type, priority, status, created_at.', details: [ { field: 'filter[message]', message: 'is no filter here; there are id, user_id, type, priority, status, created_at' } ] } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: GET /v2/notifications?limit=1&cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{
  data: [ { id: '<id 1>', user_id: '<id 2>', message: 'Your order has been shipped.', type: 'email', priority: 'high', status: 'queued', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' } ],
  links: { next: '/v2/notifications?limit=1&cursor=<cursor>' },
  meta: { totalItems: 2, itemsPerPage: 1, currentPage: 1, hasNextPage: true, hasPrevPage: false }
}
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: GET /v2/notifications?limit=1&sort=created_at 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 1>', user_id: '<id 2>', message: 'Your order has been shipped.', type: 'email', priority: 'high', status: 'queued', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' } ], meta: { total: 2, limit: 1, page: 1, pages: 2 } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: GET /v2/notifications?status=lost 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'status must be one of queued, sending, sent, delivered, failed, cancelled.', details: [ { field: 'status', message: 'must be one of queued, sending, sent, delivered, failed, cancelled' } ] } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: GET /v2/notifications?user_id=usr_nobody 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [], meta: { total: 0, limit: 20, page: 1, pages: 0 } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: GET /v2/notifications/<id 1> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v1" · cache-control: private, no-cache
{ id: '<id 1>', user_id: '<id 2>', message: 'Your order has been shipped.', type: 'email', priority: 'high', status: 'queued', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: GET /v2/notifications/<id 3> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v2" · cache-control: private, no-cache
{ id: '<id 3>', user_id: '<id 4>', message: 'Your order has been shipped.', type: 'push', priority: 'high', status: 'cancelled', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: POST /api/v1/notifications {"user_id":"<id 2>","message":" ","type":"email","priority":"high"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'message must have 1 to 4096 characters, not all of them blank.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: POST /api/v1/notifications {"user_id":"<id 2>","message":"Your order has been shipped.","type":"fax","priority":"urgent"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'type must be one of email, sms, push; priority must be one of low, normal, high.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: POST /api/v1/notifications {"user_id":"<id 4>","message":"Your order has been shipped.","type":"push","priority":"high"} 1`] = `
202 · content-type: application/json; charset=utf-8 · location: /api/v1/notifications/<id 8> · etag: "v1" · cache-control: no-store
{ id: '<id 8>', user_id: '<id 4>', message: 'Your order has been shipped.', type: 'push', priority: 'high', status: 'queued', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: POST /api/v1/notifications {"user_id":"usr_nobody","message":"Your order has been shipped.","type":"email","priority":"high"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'user_id is not a user.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: POST /api/v1/notifications {} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'user_id is required; message is required; type is required.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: POST /notifications {"user_id":"<id 2>","message":" ","type":"email","priority":"high"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'message must have 1 to 4096 characters, not all of them blank.', details: [ { field: 'message', message: 'must have 1 to 4096 characters, not all of them blank' } ] } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: POST /notifications {"user_id":"<id 2>","message":"Your order has been shipped.","type":"fax","priority":"urgent"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'type must be one of email, sms, push; priority must be one of low, normal, high.', details: [ { field: 'type', message: 'must be one of email, sms, push' }, { field: 'priority', message: 'must be one of low, normal, high' } ] } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: POST /notifications {"user_id":"<id 4>","message":"Your order has been shipped.","type":"push","priority":"high"} 1`] = `
202 · content-type: application/json; charset=utf-8 · location: /notifications/<id 6> · etag: "v1" · cache-control: no-store
{ id: '<id 6>', user_id: '<id 4>', message: 'Your order has been shipped.', type: 'push', priority: 'high', status: 'queued', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: POST /notifications {"user_id":"usr_nobody","message":"Your order has been shipped.","type":"email","priority":"high"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'user_id is not a user.', details: [ { field: 'user_id', message: 'is not a user' } ] } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: POST /notifications {} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'user_id is required; message is required; type is required.', details: [ { field: 'user_id', message: 'is required' }, { field: 'message', message: 'is required' }, { field: 'type', message: 'is required' } ] } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: POST /v2/notifications {"user_id":"<id 2>","message":" ","type":"email","priority":"high"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'message must have 1 to 4096 characters, not all of them blank.', details: [ { field: 'message', message: 'must have 1 to 4096 characters, not all of them blank' } ] } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: POST /v2/notifications {"user_id":"<id 2>","message":"Your order has been shipped.","type":"fax","priority":"urgent"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'type must be one of email, sms, push; priority must be one of low, normal, high.', details: [ { field: 'type', message: 'must be one of email, sms, push' }, { field: 'priority', message: 'must be one of low, normal, high' } ] } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: POST /v2/notifications {"user_id":"<id 4>","message":"Your order has been shipped.","type":"push","priority":"high"} 1`] = `
202 · content-type: application/json; charset=utf-8 · location: /v2/notifications/<id 3> · etag: "v1" · cache-control: no-store
{ id: '<id 3>', user_id: '<id 4>', message: 'Your order has been shipped.', type: 'push', priority: 'high', status: 'queued', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: POST /v2/notifications {"user_id":"usr_nobody","message":"Your order has been shipped.","type":"email","priority":"high"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'user_id is not a user.', details: [ { field: 'user_id', message: 'is not a user' } ] } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: POST /v2/notifications {} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'user_id is required; message is required; type is required.', details: [ { field: 'user_id', message: 'is required' }, { field: 'message', message: 'is required' }, { field: 'type', message: 'is required' } ] } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: PUT /api/v1/notifications/<id 7> {"priority":"high"} 1`] = `
409 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'This notification is not queued any more, it is cancelled.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: PUT /api/v1/notifications/<id 7> {"priority":"low"} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v2" · cache-control: no-store
{ id: '<id 7>', user_id: '<id 2>', message: 'Your order has been shipped.', type: 'email', priority: 'low', status: 'queued', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: PUT /api/v1/notifications/<id 7> {"status":"cancelled"} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v3" · cache-control: no-store
{ id: '<id 7>', user_id: '<id 2>', message: 'Your order has been shipped.', type: 'email', priority: 'low', status: 'cancelled', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: PUT /api/v1/notifications/<id 7> {"status":"sent"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'status must be one of cancelled.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: PUT /api/v1/notifications/<id 7> {} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'priority is required, or else status.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: PUT /notifications/<id 5> {"priority":"high"} 1`] = `
409 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'conflict', message: 'This notification is not queued any more, it is cancelled.' } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: PUT /notifications/<id 5> {"priority":"low"} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v2" · cache-control: no-store
{ id: '<id 5>', user_id: '<id 2>', message: 'Your order has been shipped.', type: 'email', priority: 'low', status: 'queued', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: PUT /notifications/<id 5> {"status":"cancelled"} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v3" · cache-control: no-store
{ id: '<id 5>', user_id: '<id 2>', message: 'Your order has been shipped.', type: 'email', priority: 'low', status: 'cancelled', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: PUT /notifications/<id 5> {"status":"sent"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'status must be one of cancelled.', details: [ { field: 'status', message: 'must be one of cancelled' } ] } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: PUT /notifications/<id 5> {} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'priority is required, or else status.', details: [ { field: 'priority', message: 'is required, or else status' } ] } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: PUT /v2/notifications/<id 1> {"priority":"high"} 1`] = `
409 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'conflict', message: 'This notification is not queued any more, it is cancelled.' } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: PUT /v2/notifications/<id 1> {"priority":"low"} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v2" · cache-control: no-store
{ id: '<id 1>', user_id: '<id 2>', message: 'Your order has been shipped.', type: 'email', priority: 'low', status: 'queued', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: PUT /v2/notifications/<id 1> {"status":"cancelled"} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v3" · cache-control: no-store
{ id: '<id 1>', user_id: '<id 2>', message: 'Your order has been shipped.', type: 'email', priority: 'low', status: 'cancelled', reason: null, attempts: [], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: PUT /v2/notifications/<id 1> {"status":"sent"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'status must be one of cancelled.', details: [ { field: 'status', message: 'must be one of cancelled' } ] } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > machine: PUT /v2/notifications/<id 1> {} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'priority is required, or else status.', details: [ { field: 'priority', message: 'is required, or else status' } ] } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > nobody: GET /api/v1/notifications/<id 7> 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: 'This needs an access token or an API key in the Authorization header.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > nobody: GET /notifications/<id 5> 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'unauthorized', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > nobody: GET /v2/notifications/<id 1> 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'unauthorized', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > nobody: POST /api/v1/notifications {"user_id":"<id 2>","message":"Your order has been shipped.","type":"email","priority":"high"} 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: 'This needs an access token or an API key in the Authorization header.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > nobody: POST /notifications {"user_id":"<id 2>","message":"Your order has been shipped.","type":"email","priority":"high"} 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'unauthorized', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > nobody: POST /v2/notifications {"user_id":"<id 2>","message":"Your order has been shipped.","type":"email","priority":"high"} 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'unauthorized', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > reader: POST /api/v1/notifications {"user_id":"<id 2>","message":"Your order has been shipped.","type":"email","priority":"high"} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse", error="insufficient_scope", scope="write:data"
{ error: 'This needs the scope write:data.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > reader: POST /notifications {"user_id":"<id 2>","message":"Your order has been shipped.","type":"email","priority":"high"} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse", error="insufficient_scope", scope="write:data"
{ error: { code: 'forbidden', message: 'This needs the scope write:data.' } }
`

exports[`services/notifications/test/wire.test.ts > TAP > notifications > reader: POST /v2/notifications {"user_id":"<id 2>","message":"Your order has been shipped.","type":"email","priority":"high"} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse", error="insufficient_scope", scope="write:data"
{ error: { code: 'forbidden', message: 'This needs the scope write:data.' } }
`

exports[`services/notifications/test/wire.test.ts > TAP > push subscriptions > admin: DELETE /api/v1/push-subscriptions/<id 9> 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'There is no such subscription.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > push subscriptions > admin: GET /api/v1/push-subscriptions 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[]
`

exports[`services/notifications/test/wire.test.ts > TAP > push subscriptions > admin: GET /api/v1/push-subscriptions/<id 9> 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'There is no such subscription.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > push subscriptions > ann: DELETE /api/v1/push-subscriptions/<id 9> 1`] = `
204
(no body)
`

exports[`services/notifications/test/wire.test.ts > TAP > push subscriptions > ann: DELETE /api/v1/push-subscriptions/<id 9> 2`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'There is no such subscription.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > push subscriptions > ann: GET /api/v1/push-subscriptions 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[ { id: '<id 9>', endpoint: 'https://push.example.com/send/1', created_at: '<time>' } ]
`

exports[`services/notifications/test/wire.test.ts > TAP > push subscriptions > ann: GET /api/v1/push-subscriptions/<id 9> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v1" · cache-control: private, no-cache
{ id: '<id 9>', endpoint: 'https://push.example.com/send/1', created_at: '<time>' }
`

exports[`services/notifications/test/wire.test.ts > TAP > push subscriptions > ann: GET /api/v1/push-subscriptions/public-key 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'Push is not set up here.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > push subscriptions > ann: POST /api/v1/push-subscriptions {"endpoint":"http://push.example.com/","keys":{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'endpoint must be an https URL of at most 2000 characters.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > push subscriptions > ann: POST /api/v1/push-subscriptions {"endpoint":"https://[::1]/","keys":{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'endpoint must lead to the public internet.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > push subscriptions > ann: POST /api/v1/push-subscriptions {"endpoint":"https://10.0.0.1/","keys":{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'endpoint must lead to the public internet.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > push subscriptions > ann: POST /api/v1/push-subscriptions {"endpoint":"https://localhost/","keys":{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'endpoint must lead to the public internet.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > push subscriptions > ann: POST /api/v1/push-subscriptions {"endpoint":"https://push.example.com/send/1","keys":{"p256dh":"AAAA","auth":"AAAA"}} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'keys.p256dh must be a public key of P-256 in base64url; keys.auth must be 16 bytes in base64url.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > push subscriptions > ann: POST /api/v1/push-subscriptions {"endpoint":"https://push.example.com/send/1","keys":{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /api/v1/push-subscriptions/<id 9> · etag: "v1" · cache-control: no-store
{ id: '<id 9>', endpoint: 'https://push.example.com/send/1', created_at: '<time>' }
`

exports[`services/notifications/test/wire.test.ts > TAP > push subscriptions > ann: POST /api/v1/push-subscriptions {} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'endpoint is required; keys is required.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > push subscriptions > machine: POST /api/v1/push-subscriptions {"endpoint":"https://push.example.com/send/1","keys":{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'Push subscriptions belong to people.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > push subscriptions > nobody: POST /api/v1/push-subscriptions {"endpoint":"https://push.example.com/send/1","keys":{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}} 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: 'This needs an access token or an API key in the Authorization header.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > admin: DELETE /api/v1/dead-letters 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'queue is required.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > admin: DELETE /api/v1/dead-letters?queue=messages 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ removed: 0 }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > admin: DELETE /api/v1/dead-letters/ntf_unknown-1 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'There is no such dead letter.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > admin: GET /api/v1/dead-letters 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [], links: {}, meta: { itemsPerPage: 0, hasNextPage: false } }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > admin: GET /api/v1/dead-letters?cursor=<cursor> 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'cursor is not a cursor of this list.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > admin: GET /api/v1/dead-letters?limit=101 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'limit must be at most 100.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > admin: GET /api/v1/dead-letters?queue=letters 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'There is no such queue.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > admin: GET /api/v1/dead-letters?queue=messages&limit=1 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [], links: {}, meta: { itemsPerPage: 0, hasNextPage: false } }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > admin: GET /api/v1/dead-letters/ntf_unknown-1 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'There is no such dead letter.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > admin: GET /api/v1/queues 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[
  { queue: 'messages', lane: 'email', paused: false, failing: null, attempts: {}, owners: [], priorities: [ { priority: 'high', waiting: 0, in_flight: 0, oldest_seconds: 0, dead_letters: 0 }, { priority: 'normal', waiting: 0, in_flight: 0, oldest_seconds: 0, dead_letters: 0 }, { priority: 'low', waiting: 0, in_flight: 0, oldest_seconds: 0, dead_letters: 0 } ] },
  { queue: 'messages', lane: 'sms', paused: false, failing: null, attempts: {}, owners: [], priorities: [ { priority: 'high', waiting: 0, in_flight: 0, oldest_seconds: 0, dead_letters: 0 }, { priority: 'normal', waiting: 0, in_flight: 0, oldest_seconds: 0, dead_letters: 0 }, { priority: 'low', waiting: 0, in_flight: 0, oldest_seconds: 0, dead_letters: 0 } ] },
  { queue: 'messages', lane: 'push', paused: false, failing: null, attempts: {}, owners: [], priorities: [ { priority: 'high', waiting: 0, in_flight: 0, oldest_seconds: 0, dead_letters: 0 }, { priority: 'normal', waiting: 0, in_flight: 0, oldest_seconds: 0, dead_letters: 0 }, { priority: 'low', waiting: 0, in_flight: 0, oldest_seconds: 0, dead_letters: 0 } ] },
  { queue: 'reports', lane: 'all', paused: false, failing: null, attempts: {}, owners: [], priorities: [ { priority: 'high', waiting: 0, in_flight: 0, oldest_seconds: 0, dead_letters: 0 }, { priority: 'normal', waiting: 0, in_flight: 0, oldest_seconds: 0, dead_letters: 0 }, { priority: 'low', waiting: 0, in_flight: 0, oldest_seconds: 0, dead_letters: 0 } ] }
]
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > admin: POST /api/v1/dead-letters {"ids":["ntf_unknown-1"]} 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ replayed: 0, unknown: [ 'ntf_unknown-1' ] }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > admin: POST /api/v1/dead-letters {"ids":[]} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'ids must have at least 1 item.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > admin: PUT /api/v1/queues/letters/sms {"paused":true} 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'There is no such queue.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > admin: PUT /api/v1/queues/messages/fax {"paused":true} 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'There is no such lane.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > admin: PUT /api/v1/queues/messages/sms {"paused":"yes"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'paused must be true or false.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > admin: PUT /api/v1/queues/messages/sms {"paused":false} 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ queue: 'messages', lane: 'sms', paused: false, failing: null, attempts: {}, owners: [], priorities: [ { priority: 'high', waiting: 0, in_flight: 0, oldest_seconds: 0, dead_letters: 0 }, { priority: 'normal', waiting: 0, in_flight: 0, oldest_seconds: 0, dead_letters: 0 }, { priority: 'low', waiting: 0, in_flight: 0, oldest_seconds: 0, dead_letters: 0 } ] }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > admin: PUT /api/v1/queues/messages/sms {"paused":true} 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ queue: 'messages', lane: 'sms', paused: true, failing: null, attempts: {}, owners: [], priorities: [ { priority: 'high', waiting: 0, in_flight: 0, oldest_seconds: 0, dead_letters: 0 }, { priority: 'normal', waiting: 0, in_flight: 0, oldest_seconds: 0, dead_letters: 0 }, { priority: 'low', waiting: 0, in_flight: 0, oldest_seconds: 0, dead_letters: 0 } ] }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > editor: GET /api/v1/dead-letters 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'This is for admins.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > editor: GET /api/v1/dead-letters?queue=messages&limit=1 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'This is for admins.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > editor: GET /api/v1/queues 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'This is for admins.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > editor: POST /api/v1/dead-letters {"ids":["ntf_unknown-1"]} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'This is for admins.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > editor: PUT /api/v1/queues/messages/sms {"paused":false} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'This is for admins.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > machine: GET /api/v1/dead-letters 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'This is for admins.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > machine: GET /api/v1/dead-letters?queue=messages&limit=1 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'This is for admins.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > machine: GET /api/v1/queues 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'This is for admins.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > nobody: GET /api/v1/dead-letters 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: 'This needs an access token or an API key in the Authorization header.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > nobody: GET /api/v1/dead-letters?queue=messages&limit=1 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: 'This needs an access token or an API key in the Authorization header.' }
`

exports[`services/notifications/test/wire.test.ts > TAP > queues and dead letters > nobody: GET /api/v1/queues 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: 'This needs an access token or an API key in the Authorization header.' }
`

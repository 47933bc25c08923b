/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`services/users/test/profiles/wire.test.ts > TAP > no users yet > machine: GET /users 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[]
`

exports[`services/users/test/profiles/wire.test.ts > TAP > no users yet > machine: GET /users?cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [], links: {}, meta: { totalItems: 0, itemsPerPage: 0, currentPage: 1, hasNextPage: false, hasPrevPage: false } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > no users yet > machine: GET /v1/users 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [], pagination: { limit: 20, offset: 0, total: 0 } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > no users yet > machine: GET /v1/users?cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [], links: {}, meta: { totalItems: 0, itemsPerPage: 0, currentPage: 1, hasNextPage: false, hasPrevPage: false } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > no users yet > machine: GET /v1/users?cursor= 2`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [], links: {}, meta: { totalItems: 0, itemsPerPage: 0, currentPage: 1, hasNextPage: false, hasPrevPage: false } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > no users yet > machine: GET /v1/users?page=1 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [], meta: { total: 0, page: 1, limit: 20 } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > no users yet > machine: GET /v2/users 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [], meta: { total: 0, limit: 20, page: 1, pages: 0 } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > no users yet > machine: GET /v2/users?cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [], links: {}, meta: { totalItems: 0, itemsPerPage: 0, currentPage: 1, hasNextPage: false, hasPrevPage: false } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > no users yet > machine: GET /v2/users?cursor= 2`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [], links: {}, meta: { totalItems: 0, itemsPerPage: 0, currentPage: 1, hasNextPage: false, hasPrevPage: false } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > no users yet > machine: GET /v2/users?offset=0 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[]
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine without scopes: DELETE /v1/users/<id 1> 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse", error="insufficient_scope", scope="write:users"
{ error: { code: 'FORBIDDEN', message: 'This needs the scope write:users.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine without scopes: GET /v1/users 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse", error="insufficient_scope", scope="read:users read:all"
{ error: { code: 'FORBIDDEN', message: 'This needs the scope read:users or read:all.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine without scopes: GET /v1/users/<id 1> 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse", error="insufficient_scope", scope="read:users read:all"
{ error: { code: 'FORBIDDEN', message: 'This needs the scope read:users or read:all.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine without scopes: POST /v1/users {"username":"ann","email":"ann@example.org","password":"correct horse"} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse", error="insufficient_scope", scope="write:users"
{ error: { code: 'FORBIDDEN', message: 'This needs the scope write:users.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine without scopes: PUT /v1/users/<id 1> {} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse", error="insufficient_scope", scope="write:users"
{ error: { code: 'FORBIDDEN', message: 'This needs the scope write:users.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: DELETE /v1/users/<id 1> 1`] = `
204
(no body)
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: DELETE /v1/users/<id 1> 2`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'NOT_FOUND', message: 'There is no such user.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: GET /v1/users 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 1>', username: 'ann', email: 'ann@example.org', createdAt: '<time>', updatedAt: '<time>' }, { id: '<id 2>', username: 'amy', email: 'amy@example.org', createdAt: '<time>', updatedAt: '<time>' } ], pagination: { limit: 20, offset: 0, total: 2 } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: GET /v1/users?cursor=<cursor> 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'INVALID_INPUT', message: 'cursor is not one of a link of this list.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: GET /v1/users?filter[role]=admin 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'INVALID_INPUT', message: 'filter[role] is no filter here; there are id, username, email, createdAt, updatedAt.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: GET /v1/users?filter[username]=ann 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 1>', username: 'ann', email: 'ann@example.org', createdAt: '<time>', updatedAt: '<time>' } ], pagination: { limit: 20, offset: 0, total: 1 } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: GET /v1/users?limit=0 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'INVALID_INPUT', message: 'limit must be at least 1.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: GET /v1/users?limit=1&cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 1>', username: 'ann', email: 'ann@example.org', createdAt: '<time>', updatedAt: '<time>' } ], links: { next: '/v1/users?limit=1&cursor=<cursor>' }, meta: { totalItems: 2, itemsPerPage: 1, currentPage: 1, hasNextPage: true, hasPrevPage: false } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: GET /v1/users?limit=1&offset=1 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 2>', username: 'amy', email: 'amy@example.org', createdAt: '<time>', updatedAt: '<time>' } ], pagination: { limit: 1, offset: 1, total: 2 } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: GET /v1/users?limit=101 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'INVALID_INPUT', message: 'limit must be at most 100.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: GET /v1/users?limit=x 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'INVALID_INPUT', message: 'limit must be a whole number.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: GET /v1/users?offset=-1 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'INVALID_INPUT', message: 'offset must be at least 0.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: GET /v1/users?offset=10001 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'INVALID_INPUT', message: 'offset must be at most 10000; go on with the cursor parameter.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: GET /v1/users?username=ann 1`] = `
200 · content-type: application/json; charset=utf-8 · link: </guides/filters>; rel="deprecation"; type="text/markdown" · deprecation: @1752105600 · sunset: Sat, 10 Jul 2027 00:00:00 GMT · cache-control: no-store
{ data: [ { id: '<id 1>', username: 'ann', email: 'ann@example.org', createdAt: '<time>', updatedAt: '<time>' } ], pagination: { limit: 20, offset: 0, total: 1 } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: GET /v1/users/<id 1> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v1" · cache-control: private, no-cache
{ id: '<id 1>', username: 'ann', email: 'ann@example.org', createdAt: '<time>', updatedAt: '<time>' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: GET /v1/users/usr_unknown 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'NOT_FOUND', message: 'There is no such user.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: OPTIONS /v1/users 1`] = `
204
(no body)
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: PATCH /v1/users {} 1`] = `
405 · content-type: application/json; charset=utf-8 · cache-control: no-store · allow: GET, HEAD, POST
{ error: { code: 'METHOD_NOT_ALLOWED', message: 'This path takes GET, HEAD, POST.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: POST /v1/users {"username":"amy","email":"amy@example.org","password":"correct horse"} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /v1/users/<id 2> · etag: "v1" · cache-control: no-store
{ id: '<id 2>', username: 'amy', email: 'amy@example.org', createdAt: '<time>', updatedAt: '<time>' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: POST /v1/users {"username":"ann","email":"ann@example.org","password":"correct horse"} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /v1/users/<id 1> · etag: "v1" · cache-control: no-store
{ id: '<id 1>', username: 'ann', email: 'ann@example.org', createdAt: '<time>', updatedAt: '<time>' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: POST /v1/users {"username":"ann","email":"no address","password":"short"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'INVALID_INPUT', message: 'email must be a valid email address; password must have 8 to 256 characters.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: POST /v1/users {"username":"ann","email":"other@example.org","password":"correct horse"} 1`] = `
409 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'CONFLICT', message: 'This username is already taken.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: POST /v1/users {"username":"other","email":"ann@example.org","password":"correct horse"} 1`] = `
409 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'CONFLICT', message: 'This email is already taken.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: POST /v1/users {"username":"x"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'INVALID_INPUT', message: 'email is required; password is required.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: PUT /v1/users/<id 1> {"email":"amy@example.org"} 1`] = `
409 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'CONFLICT', message: 'This email is already taken.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: PUT /v1/users/<id 1> {"username":""} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'INVALID_INPUT', message: 'username must have 3 to 64 characters.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: PUT /v1/users/<id 1> {"username":"amy"} 1`] = `
409 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'CONFLICT', message: 'This username is already taken.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: PUT /v1/users/<id 1> {"username":"anna","email":"anna@example.org"} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v2" · cache-control: no-store
{ id: '<id 1>', username: 'anna', email: 'anna@example.org', createdAt: '<time>', updatedAt: '<time>' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: PUT /v1/users/<id 1>/password {"new_password":"another horse"} 1`] = `
204
(no body)
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: PUT /v1/users/<id 1>/password {"new_password":"short"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'INVALID_INPUT', message: 'new_password must have 8 to 256 characters.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > machine: PUT /v1/users/usr_unknown {} 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'NOT_FOUND', message: 'There is no such user.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > nobody: DELETE /v1/users/<id 1> 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'UNAUTHORIZED', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > nobody: GET /v1/users 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'UNAUTHORIZED', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > nobody: GET /v1/users/<id 1> 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'UNAUTHORIZED', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > nobody: POST /v1/users {"username":"ann","email":"ann@example.org","password":"correct horse"} 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'UNAUTHORIZED', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > nobody: PUT /v1/users/<id 1> {} 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'UNAUTHORIZED', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > nobody: PUT /v1/users/<id 1>/password {"new_password":"another horse"} 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'UNAUTHORIZED', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > somebody else: DELETE /v1/users/<id 1> 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'FORBIDDEN', message: 'You are not permitted to change this user: that is for the person, admins and trusted applications.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > somebody else: GET /v1/users 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'FORBIDDEN', message: 'You are not permitted to list users: that is for editors, admins and trusted applications.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > somebody else: GET /v1/users/<id 1> 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'FORBIDDEN', message: 'You are not permitted to read this user: that is for the person, editors, admins and trusted applications.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > somebody else: POST /v1/users {"username":"ann","email":"ann@example.org","password":"correct horse"} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'FORBIDDEN', message: 'You are not permitted to create users: that is for admins and trusted applications.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile A > somebody else: PUT /v1/users/<id 1> {} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'FORBIDDEN', message: 'You are not permitted to change this user: that is for the person, admins and trusted applications.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile C > machine: DELETE /api/v1/users/<id 5> 1`] = `
405 · content-type: application/json; charset=utf-8 · cache-control: no-store · allow: GET, HEAD
{ error: 'This path takes GET, HEAD.' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile C > machine: GET /api/v1/users 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[ { id: '<id 2>', username: 'amy', email: 'amy@example.org', created_at: '<time>' }, { id: '<id 4>', username: 'bea', email: 'bea@example.org', created_at: '<time>' }, { id: '<id 5>', username: 'cat', email: 'cat@example.org', created_at: '<time>' } ]
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile C > machine: GET /api/v1/users?limit=1&cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 2>', username: 'amy', email: 'amy@example.org', created_at: '<time>' } ], links: { next: '/api/v1/users?limit=1&cursor=<cursor>' }, meta: { totalItems: 3, itemsPerPage: 1, currentPage: 1, hasNextPage: true, hasPrevPage: false } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile C > machine: GET /api/v1/users?limit=1&offset=1 1`] = `
200 · content-type: application/json; charset=utf-8 · link: </api/v1/users?limit=1&cursor=<cursor>>; rel="next" · cache-control: no-store
[ { id: '<id 4>', username: 'bea', email: 'bea@example.org', created_at: '<time>' } ]
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile C > machine: GET /api/v1/users?limit=x 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'limit must be a whole number.' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile C > machine: GET /api/v1/users?username=cat 1`] = `
200 · content-type: application/json; charset=utf-8 · link: </guides/filters>; rel="deprecation"; type="text/markdown" · deprecation: @1752105600 · sunset: Sat, 10 Jul 2027 00:00:00 GMT · cache-control: no-store
[ { id: '<id 5>', username: 'cat', email: 'cat@example.org', created_at: '<time>' } ]
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile C > machine: GET /api/v1/users/<id 5> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v1" · cache-control: private, no-cache
{ id: '<id 5>', username: 'cat', email: 'cat@example.org', created_at: '<time>' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile C > machine: GET /api/v1/users/usr_unknown 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'There is no such user.' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile C > machine: POST /api/v1/users {"username":"cat","email":"cat@example.org","password":"correct horse"} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /api/v1/users/<id 5> · etag: "v1" · cache-control: no-store
{ id: '<id 5>', message: 'User created.' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile C > machine: POST /api/v1/users {"username":"cat","email":"no address","password":"correct horse"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'email must be a valid email address.' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile C > machine: POST /api/v1/users {"username":"cat","email":"other@example.org","password":"correct horse"} 1`] = `
409 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'This username is already taken.' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile C > machine: POST /api/v1/users {"username":"other","email":"cat@example.org","password":"correct horse"} 1`] = `
409 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'This email is already taken.' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile C > machine: POST /api/v1/users {"username":"x"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'email is required; password is required.' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile C > nobody: GET /api/v1/users/<id 5> 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: 'This needs an access token or an API key in the Authorization header.' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile C > nobody: POST /api/v1/users {"username":"cat","email":"cat@example.org","password":"correct horse"} 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: 'This needs an access token or an API key in the Authorization header.' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile D, and what it lacks > machine: DELETE /users/<id 6> 1`] = `
204
(no body)
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile D, and what it lacks > machine: GET /users 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[ { id: '<id 2>', name: 'amy' }, { id: '<id 4>', name: 'bea' }, { id: '<id 5>', name: 'cat' }, { id: '<id 6>', name: 'Dan Gray' }, { id: '<id 7>', name: 'Dan Gray' } ]
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile D, and what it lacks > machine: GET /users?limit=1 1`] = `
200 · content-type: application/json; charset=utf-8 · link: </users?limit=1&cursor=<cursor>>; rel="next" · cache-control: no-store
[ { id: '<id 2>', name: 'amy' } ]
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile D, and what it lacks > machine: GET /users?limit=1&cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 2>', name: 'amy' } ], links: { next: '/users?limit=1&cursor=<cursor>' }, meta: { totalItems: 5, itemsPerPage: 1, currentPage: 1, hasNextPage: true, hasPrevPage: false } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile D, and what it lacks > machine: GET /users/<id 6> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v1" · cache-control: private, no-cache
{ id: '<id 6>', name: 'Dan Gray', email: null }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile D, and what it lacks > machine: GET /users/<id 6> 2`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v2" · cache-control: private, no-cache
{ id: '<id 6>', name: 'Dan Gray', email: 'dan@example.org' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile D, and what it lacks > machine: GET /users/usr_unknown 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'NOT_FOUND', message: 'There is no such user.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile D, and what it lacks > machine: POST /users {"name":"Dan Gray"} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /users/<id 6> · etag: "v1" · cache-control: no-store
{ id: '<id 6>', name: 'Dan Gray' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile D, and what it lacks > machine: POST /users {"name":"Dan Gray"} 2`] = `
201 · content-type: application/json; charset=utf-8 · location: /users/<id 7> · etag: "v1" · cache-control: no-store
{ id: '<id 7>', name: 'Dan Gray' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile D, and what it lacks > machine: POST /users {} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'INVALID_INPUT', message: 'name is required.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile D, and what it lacks > machine: PUT /users/<id 6> {"email":"dan@example.org"} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v2" · cache-control: no-store
{ id: '<id 6>', username: 'dan.gray', email: 'dan@example.org', status: 'active', created_at: '<time>', profile: { first_name: null, last_name: null } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile D, and what it lacks > machine: PUT /users/<id 6> {"email":"no address"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'email must be a valid email address.', details: [ { field: 'email', message: 'must be a valid email address' } ] } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile D, and what it lacks > machine: PUT /users/<id 6>/password {"new_password":"short"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'new_password must have 8 to 256 characters.', details: [ { field: 'new_password', message: 'must have 8 to 256 characters' } ] } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile D, and what it lacks > nobody: POST /users {"name":"Dan"} 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'UNAUTHORIZED', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile E > machine: PATCH /v1/users/<id 8> {"name":""} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'INVALID_INPUT', message: 'name must have 1 to 200 characters.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile E > machine: PATCH /v1/users/<id 8> {"name":"Eve Sun"} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v2" · cache-control: no-store
{ id: '<id 8>', email: 'eve@example.org', name: 'Eve Sun', updatedAt: '<time>' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile E > machine: PATCH /v1/users/<id 8> {"name":1} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'INVALID_INPUT', message: 'name must be a string.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile E > machine: PATCH /v1/users/usr_unknown {"name":"Eve"} 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'NOT_FOUND', message: 'There is no such user.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile E > machine: POST /v1/users {"email":"eve@example.org","name":"Eve Moon","password":"correct horse"} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /v1/users/<id 8> · etag: "v1" · cache-control: no-store
{ id: '<id 8>', email: 'eve@example.org', name: 'Eve Moon', createdAt: '<time>' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile E > machine: POST /v1/users {"email":"eve@example.org","name":"Eve Moon","password":"correct horse"} 2`] = `
409 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'CONFLICT', message: 'This email is already taken.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile E > machine: POST /v1/users {"email":"no address","name":"Eve Moon","password":"correct horse"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'INVALID_INPUT', message: 'email must be a valid email address.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile E > machine: POST /v1/users {"name":"Eve"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'INVALID_INPUT', message: 'email is required; password is required.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile E > nobody: DELETE /v1/users/<id 8> 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'UNAUTHORIZED', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile E > nobody: PATCH /v1/users/<id 8> {"name":"Eve"} 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'UNAUTHORIZED', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile E > nobody: POST /v1/users {"email":"eve@example.org","name":"Eve Moon","password":"correct horse"} 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'UNAUTHORIZED', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile E > pinned to E: DELETE /v1/users/<id 8> 1`] = `
204
(no body)
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile E > pinned to E: DELETE /v1/users/<id 8> 2`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'NOT_FOUND', message: 'There is no such user.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile E > pinned to E: POST /v1/users {"email":"eve2@example.org","name":"Eve Two","password":"correct horse"} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /v1/users/<id 9> · etag: "v1" · cache-control: no-store
{ id: '<id 9>', email: 'eve2@example.org', name: 'Eve Two', createdAt: '<time>' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile F > machine: GET /kb/api/v1/users?filter[username]=fay,fox 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[ { id: '<id 10>', username: 'fay', email: 'fay@example.org', role: 'user', createdAt: '<time>', updatedAt: '<time>' }, { id: '<id 11>', username: 'fox', email: 'fox@example.org', role: 'editor', createdAt: '<time>', updatedAt: '<time>' } ]
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile F > machine: GET /kb/api/v1/users?filter[username]=fay,fox&sortBy=username&sortOrder=desc 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[ { id: '<id 11>', username: 'fox', email: 'fox@example.org', role: 'editor', createdAt: '<time>', updatedAt: '<time>' }, { id: '<id 10>', username: 'fay', email: 'fay@example.org', role: 'user', createdAt: '<time>', updatedAt: '<time>' } ]
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile F > machine: GET /kb/api/v1/users?sortBy=createdAt&sortOrder=desc&limit=1&offset=1 1`] = `
200 · content-type: application/json; charset=utf-8 · link: </kb/api/v1/users?sortBy=createdAt&sortOrder=desc&limit=1&cursor=<cursor>>; rel="next" · cache-control: no-store
[ { id: '<id 10>', username: 'fay', email: 'fay@example.org', role: 'user', createdAt: '<time>', updatedAt: '<time>' } ]
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile F > machine: GET /kb/api/v1/users?sortBy=password 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'INVALID_INPUT', message: 'sortBy must be one of id, username, email, role, createdAt, updatedAt.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile F > machine: GET /kb/api/v1/users?sortBy=username&limit=1&cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 2>', username: 'amy', email: 'amy@example.org', role: 'user', createdAt: '<time>', updatedAt: '<time>' } ], links: { next: '/kb/api/v1/users?sortBy=username&limit=1&cursor=<cursor>' }, meta: { totalItems: 7, itemsPerPage: 1, currentPage: 1, hasNextPage: true, hasPrevPage: false } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile F > machine: GET /kb/api/v1/users?sortOrder=up 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'INVALID_INPUT', message: 'sortOrder must be asc or desc.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile F > machine: POST /kb/api/v1/users {"username":"fay","email":"fay@example.org","password":"correct horse","role":"owner"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'INVALID_INPUT', message: 'role must be one of user, editor, admin.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile F > machine: POST /kb/api/v1/users {"username":"fay","email":"fay@example.org","password":"correct horse"} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /v1/users/<id 10> · etag: "v1" · cache-control: no-store
{ id: '<id 10>', username: 'fay', email: 'fay@example.org', role: 'user', createdAt: '<time>', updatedAt: '<time>' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile F > machine: POST /kb/api/v1/users {"username":"fay","email":"other@example.org","password":"correct horse"} 1`] = `
409 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'CONFLICT', message: 'This username is already taken.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile F > machine: POST /kb/api/v1/users {"username":"fox","email":"fox@example.org","password":"correct horse","role":"editor"} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /v1/users/<id 11> · etag: "v1" · cache-control: no-store
{ id: '<id 11>', username: 'fox', email: 'fox@example.org', role: 'editor', createdAt: '<time>', updatedAt: '<time>' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile F > machine: POST /kb/api/v1/users {"username":"other","email":"fay@example.org","password":"correct horse"} 1`] = `
409 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'CONFLICT', message: 'This email is already taken.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile F > machine: POST /kb/api/v1/users {"username":"x"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'INVALID_INPUT', message: 'email is required; password is required.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile F > nobody: GET /kb/api/v1/users 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'UNAUTHORIZED', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile F > nobody: POST /kb/api/v1/users {"username":"fay","email":"fay@example.org","password":"correct horse"} 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'UNAUTHORIZED', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile G > machine: GET /v1/users?page=0 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'INVALID_INPUT', message: 'page must be at least 1.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile G > machine: GET /v1/users?page=1&filter[email]=gil@example.org 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 12>', name: 'Gil West', email: 'gil@example.org', created_at: '<time>' } ], meta: { total: 1, page: 1, limit: 20 } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile G > machine: GET /v1/users?page=2&limit=1 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 4>', name: 'bea', email: 'bea@example.org', created_at: '<time>' } ], meta: { total: 8, page: 2, limit: 1 } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile G > machine: GET /v1/users?page=x 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'INVALID_INPUT', message: 'page must be a whole number.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile G > pinned to G: GET /v1/users 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{
  data: [
    { id: '<id 2>', name: 'amy', email: 'amy@example.org', created_at: '<time>' },
    { id: '<id 4>', name: 'bea', email: 'bea@example.org', created_at: '<time>' },
    { id: '<id 5>', name: 'cat', email: 'cat@example.org', created_at: '<time>' },
    { id: '<id 7>', name: 'Dan Gray', email: null, created_at: '<time>' },
    { id: '<id 9>', name: 'Eve Two', email: 'eve2@example.org', created_at: '<time>' },
    { id: '<id 10>', name: 'fay', email: 'fay@example.org', created_at: '<time>' },
    { id: '<id 11>', name: 'fox', email: 'fox@example.org', created_at: '<time>' },
    { id: '<id 12>', name: 'Gil West', email: 'gil@example.org', created_at: '<time>' }
  ],
  meta: { total: 8, page: 1, limit: 20 }
}
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile G > pinned to G: GET /v1/users?limit=1&cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 2>', name: 'amy', email: 'amy@example.org', created_at: '<time>' } ], links: { next: '/v1/users?limit=1&cursor=<cursor>' }, meta: { totalItems: 8, itemsPerPage: 1, currentPage: 1, hasNextPage: true, hasPrevPage: false } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile G > pinned to G: POST /v1/users {"name":"Gil West","email":"gil@example.org","password":"correct horse"} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /v1/users/<id 12> · etag: "v1" · cache-control: no-store
{ id: '<id 12>', name: 'Gil West', email: 'gil@example.org', created_at: '<time>' }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile G > pinned to G: POST /v1/users {"name":"Gil West","email":"gil@example.org","password":"correct horse"} 2`] = `
409 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'CONFLICT', message: 'This email is already taken.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profile G > pinned to G: POST /v1/users {"name":"Gil"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'INVALID_INPUT', message: 'email is required; password is required.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: DELETE /v2/users/<id 3> 1`] = `
204
(no body)
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: DELETE /v2/users/<id 3> 2`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'not_found', message: 'There is no such user.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: GET /v2/users 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 2>', email: 'amy@example.org', status: 'active' }, { id: '<id 3>', email: 'bob@example.org', status: 'inactive' }, { id: '<id 4>', email: 'bea@example.org', status: 'active' } ], meta: { total: 3, limit: 20, page: 1, pages: 1 } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: GET /v2/users?cursor=<cursor> 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'cursor is not one of a link of this list.', details: [ { field: 'cursor', message: 'is not one of a link of this list' } ] } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: GET /v2/users?filter[password]=x 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'filter[password] is no filter here; there are id, username, email, status, created_at.', details: [ { field: 'filter[password]', message: 'is no filter here; there are id, username, email, status, created_at' } ] } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: GET /v2/users?limit=1&cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 2>', email: 'amy@example.org', status: 'active' } ], links: { next: '/v2/users?limit=1&cursor=<cursor>' }, meta: { totalItems: 3, itemsPerPage: 1, currentPage: 1, hasNextPage: true, hasPrevPage: false } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: GET /v2/users?limit=1&offset=1 1`] = `
200 · content-type: application/json; charset=utf-8 · link: </v2/users?limit=1&cursor=<cursor>>; rel="next" · cache-control: no-store
[ { id: '<id 3>', username: 'bob', email: 'bob@example.org', status: 'inactive', created_at: '<time>' } ]
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: GET /v2/users?limit=101 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'limit must be at most 100.', details: [ { field: 'limit', message: 'must be at most 100' } ] } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: GET /v2/users?offset=0&filter[status]=active 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[ { id: '<id 2>', username: 'amy', email: 'amy@example.org', status: 'active', created_at: '<time>' }, { id: '<id 4>', username: 'bea', email: 'bea@example.org', status: 'active', created_at: '<time>' } ]
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: GET /v2/users?offset=0&status=inactive 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[ { id: '<id 3>', username: 'bob', email: 'bob@example.org', status: 'inactive', created_at: '<time>' } ]
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: GET /v2/users?page=0 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'page must be at least 1.', details: [ { field: 'page', message: 'must be at least 1' } ] } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: GET /v2/users?page=2&limit=2 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 4>', email: 'bea@example.org', status: 'active' } ], meta: { total: 3, limit: 2, page: 2, pages: 2 } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: GET /v2/users?page=x 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'page must be a whole number.', details: [ { field: 'page', message: 'must be a whole number' } ] } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: GET /v2/users?status=asleep 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'status must be one of active, inactive.', details: [ { field: 'status', message: 'must be one of active, inactive' } ] } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: GET /v2/users?status=inactive 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 3>', email: 'bob@example.org', status: 'inactive' } ], meta: { total: 1, limit: 20, page: 1, pages: 1 } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: GET /v2/users/<id 3> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v1" · cache-control: private, no-cache
{ id: '<id 3>', username: 'bob', email: 'bob@example.org', status: 'inactive', created_at: '<time>', profile: { first_name: 'Bob', last_name: 'Stone' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: GET /v2/users/usr_unknown 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'not_found', message: 'There is no such user.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: POST /v2/users {"username":"bea","email":"bea@example.org","password":"correct horse"} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /v2/users/<id 4> · etag: "v1" · cache-control: no-store
{ id: '<id 4>', username: 'bea', email: 'bea@example.org', status: 'active', created_at: '<time>', profile: { first_name: null, last_name: null } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: POST /v2/users {"username":"bob","email":"bob@example.org","password":"correct horse","status":"asleep","profile":{"first_name":1}} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'status must be one of active, inactive; profile.first_name must be a string or null.', details: [ { field: 'status', message: 'must be one of active, inactive' }, { field: 'profile.first_name', message: 'must be a string or null' } ] } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: POST /v2/users {"username":"bob","email":"bob@example.org","password":"correct horse","status":"inactive","profile":{"first_name":"Bob","last_name":"Stone"}} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /v2/users/<id 3> · etag: "v1" · cache-control: no-store
{ id: '<id 3>', username: 'bob', email: 'bob@example.org', status: 'inactive', created_at: '<time>', profile: { first_name: 'Bob', last_name: 'Stone' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: POST /v2/users {"username":"other","email":"bob@example.org","password":"correct horse","status":"inactive","profile":{"first_name":"Bob","last_name":"Stone"}} 1`] = `
409 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'conflict', message: 'This email is already taken.', details: [ { field: 'email', message: 'is already taken' } ] } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: POST /v2/users {} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'username is required; email is required; password is required.', details: [ { field: 'username', message: 'is required' }, { field: 'email', message: 'is required' }, { field: 'password', message: 'is required' } ] } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: PUT /v2/users/<id 3> {"status":"active","profile":{"last_name":"Rock"}} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v2" · cache-control: no-store
{ id: '<id 3>', username: 'bob', email: 'bob@example.org', status: 'active', created_at: '<time>', profile: { first_name: 'Bob', last_name: 'Rock' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: PUT /v2/users/<id 3> {"status":"asleep"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'status must be one of active, inactive.', details: [ { field: 'status', message: 'must be one of active, inactive' } ] } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: PUT /v2/users/<id 3> {"username":"bea"} 1`] = `
409 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'conflict', message: 'This username is already taken.', details: [ { field: 'username', message: 'is already taken' } ] } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: PUT /v2/users/<id 3>/password {"new_password":"another horse"} 1`] = `
204
(no body)
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > machine: PUT /v2/users/usr_unknown {} 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'not_found', message: 'There is no such user.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > nobody: GET /v2/users 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'unauthorized', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > nobody: GET /v2/users/<id 3> 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'unauthorized', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > nobody: POST /v2/users {"username":"bob","email":"bob@example.org","password":"correct horse","status":"inactive","profile":{"first_name":"Bob","last_name":"Stone"}} 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'unauthorized', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > pinned to B1: GET /v2/users 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[ { id: '<id 2>', username: 'amy', email: 'amy@example.org', status: 'active', created_at: '<time>' }, { id: '<id 3>', username: 'bob', email: 'bob@example.org', status: 'inactive', created_at: '<time>' }, { id: '<id 4>', username: 'bea', email: 'bea@example.org', status: 'active', created_at: '<time>' } ]
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > pinned to B1: GET /v2/users?limit=1&cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 2>', username: 'amy', email: 'amy@example.org', status: 'active', created_at: '<time>' } ], links: { next: '/v2/users?limit=1&cursor=<cursor>' }, meta: { totalItems: 3, itemsPerPage: 1, currentPage: 1, hasNextPage: true, hasPrevPage: false } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > somebody else: GET /v2/users 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'forbidden', message: 'You are not permitted to list users: that is for editors, admins and trusted applications.' } }
`

exports[`services/users/test/profiles/wire.test.ts > TAP > profiles B1 and B2 > somebody else: POST /v2/users {"username":"bob","email":"bob@example.org","password":"correct horse","status":"inactive","profile":{"first_name":"Bob","last_name":"Stone"}} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'forbidden', message: 'You are not permitted to create users: that is for admins and trusted applications.' } }
`

/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`services/items/test/wire.test.ts > TAP > GET, the list > ann: GET /api/v1/items?limit=1 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[]
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > machine that reads: GET /api/v1/items?limit=1 1`] = `
200 · content-type: application/json; charset=utf-8 · link: </api/v1/items?limit=1&cursor=<cursor>>; rel="next" · cache-control: no-store
[ { id: '<id 1>', name: 'n', value: 42 } ]
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > machine without scopes: GET /api/v1/items?limit=1 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse", error="insufficient_scope", scope="read:data read:all"
{ error: 'This needs the scope read:data or read:all.' }
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > machine: GET /api/v1/items 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[ { id: '<id 1>', name: 'n', value: 42 }, { id: '<id 2>', name: 'n', value: 'text' }, { id: '<id 3>', name: 'n', value: null }, { id: '<id 4>', name: 'n', value: true }, { id: '<id 5>', name: 'n', value: [ 1, { a: [] } ] }, { id: '<id 6>', name: 'n', value: { '': null, '$set': { 'a.b': 1 } } } ]
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > machine: GET /api/v1/items?cursor=&offset=0 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'cursor cannot be given together with offset.' }
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > machine: GET /api/v1/items?cursor=<cursor> 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'cursor is not one of a link of this list.' }
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > machine: GET /api/v1/items?filter[created_at][gt]=2020-01-01&limit=1 1`] = `
200 · content-type: application/json; charset=utf-8 · link: </api/v1/items?filter%5Bcreated_at%5D%5Bgt%5D=2020-01-01&limit=1&cursor=<cursor>>; rel="next" · cache-control: no-store
[ { id: '<id 1>', name: 'n', value: 42 } ]
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > machine: GET /api/v1/items?filter[name][like]=n 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'filter[name][like] has no such operator; there are eq, ne, gt, gte, lt, lte, in.' }
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > machine: GET /api/v1/items?filter[name]=n&limit=1 1`] = `
200 · content-type: application/json; charset=utf-8 · link: </api/v1/items?filter%5Bname%5D=n&limit=1&cursor=<cursor>>; rel="next" · cache-control: no-store
[ { id: '<id 1>', name: 'n', value: 42 } ]
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > machine: GET /api/v1/items?filter[value]=1 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'filter[value] is no filter here; there are id, name, created_at.' }
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > machine: GET /api/v1/items?limit=0 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'limit must be at least 1.' }
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > machine: GET /api/v1/items?limit=101 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'limit must be at most 100.' }
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > machine: GET /api/v1/items?limit=2 1`] = `
200 · content-type: application/json; charset=utf-8 · link: </api/v1/items?limit=2&cursor=<cursor>>; rel="next" · cache-control: no-store
[ { id: '<id 1>', name: 'n', value: 42 }, { id: '<id 2>', name: 'n', value: 'text' } ]
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > machine: GET /api/v1/items?limit=2&cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 1>', name: 'n', value: 42 }, { id: '<id 2>', name: 'n', value: 'text' } ], links: { next: '/api/v1/items?limit=2&cursor=<cursor>' }, meta: { totalItems: 6, itemsPerPage: 2, currentPage: 1, hasNextPage: true, hasPrevPage: false } }
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > machine: GET /api/v1/items?limit=2&offset=2 1`] = `
200 · content-type: application/json; charset=utf-8 · link: </api/v1/items?limit=2&cursor=<cursor>>; rel="next" · cache-control: no-store
[ { id: '<id 3>', name: 'n', value: null }, { id: '<id 4>', name: 'n', value: true } ]
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > machine: GET /api/v1/items?limit=x 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'limit must be a whole number.' }
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > machine: GET /api/v1/items?name=n&limit=1 1`] = `
200 · content-type: application/json; charset=utf-8 · link: </api/v1/items?name=n&limit=1&cursor=<cursor>>; rel="next", </guides/filters>; rel="deprecation"; type="text/markdown" · deprecation: @1752105600 · sunset: Sat, 10 Jul 2027 00:00:00 GMT · cache-control: no-store
[ { id: '<id 1>', name: 'n', value: 42 } ]
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > machine: GET /api/v1/items?offset=-1 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'offset must be at least 0.' }
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > machine: GET /api/v1/items?offset=10001 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'offset must be at most 10000; go on with the cursor parameter.' }
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > machine: GET /api/v1/items?page=2&limit=4 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[ { id: '<id 5>', name: 'n', value: [ 1, { a: [] } ] }, { id: '<id 6>', name: 'n', value: { '': null, '$set': { 'a.b': 1 } } } ]
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > machine: GET /api/v1/items?unknown=1&limit=1 1`] = `
200 · content-type: application/json; charset=utf-8 · link: </api/v1/items?limit=1&cursor=<cursor>>; rel="next" · cache-control: no-store
[ { id: '<id 1>', name: 'n', value: 42 } ]
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > nobody: GET /api/v1/items?limit=1 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: 'This needs an access token or an API key in the Authorization header.' }
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > pinned to cursor: GET /api/v1/items?limit=1 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 1>', name: 'n', value: 42 } ], links: { next: '/api/v1/items?limit=1&cursor=<cursor>' }, meta: { totalItems: 6, itemsPerPage: 1, currentPage: 1, hasNextPage: true, hasPrevPage: false } }
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > pinned to cursor: GET /api/v1/items?limit=1&cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 1>', name: 'n', value: 42 } ], links: { next: '/api/v1/items?limit=1&cursor=<cursor>' }, meta: { totalItems: 6, itemsPerPage: 1, currentPage: 1, hasNextPage: true, hasPrevPage: false } }
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > pinned to cursor: GET /api/v1/items?limit=1&offset=1 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'offset is not a parameter of this list, which is paged by cursor.' }
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > pinned to offset: GET /api/v1/items?limit=1 1`] = `
200 · content-type: application/json; charset=utf-8 · link: </api/v1/items?limit=1&cursor=<cursor>>; rel="next" · cache-control: no-store
[ { id: '<id 1>', name: 'n', value: 42 } ]
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > pinned to offset: GET /api/v1/items?limit=1&cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 1>', name: 'n', value: 42 } ], links: { next: '/api/v1/items?limit=1&cursor=<cursor>' }, meta: { totalItems: 6, itemsPerPage: 1, currentPage: 1, hasNextPage: true, hasPrevPage: false } }
`

exports[`services/items/test/wire.test.ts > TAP > GET, the list > pinned to offset: GET /api/v1/items?limit=1&offset=1 1`] = `
200 · content-type: application/json; charset=utf-8 · link: </api/v1/items?limit=1&cursor=<cursor>>; rel="next" · cache-control: no-store
[ { id: '<id 2>', name: 'n', value: 'text' } ]
`

exports[`services/items/test/wire.test.ts > TAP > no items yet > machine: GET /api/v1/items 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[]
`

exports[`services/items/test/wire.test.ts > TAP > no items yet > machine: GET /api/v1/items?cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [], links: {}, meta: { totalItems: 0, itemsPerPage: 0, currentPage: 1, hasNextPage: false, hasPrevPage: false } }
`

exports[`services/items/test/wire.test.ts > TAP > no items yet > machine: GET /api/v1/items?offset=0 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[]
`

exports[`services/items/test/wire.test.ts > TAP > no items yet > pinned to cursor: GET /api/v1/items 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [], links: {}, meta: { totalItems: 0, itemsPerPage: 0, currentPage: 1, hasNextPage: false, hasPrevPage: false } }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > ann: DELETE /api/v1/items/<id 7> 1`] = `
204
(no body)
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > ann: DELETE /api/v1/items/<id 7> 2`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'There is no such item.' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > ann: GET /api/v1/items/<id 7> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v1" · cache-control: private, no-cache
{ id: '<id 7>', name: 'of Ann', value: { a: 1 }, created_at: '<time>' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > ann: GET /api/v1/items/<id 7> 2`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v6" · cache-control: private, no-cache
{ id: '<id 7>', name: 'by the editor', value: [ 1 ], created_at: '<time>' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > ann: GET /api/v1/items/<id 7> 3`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'There is no such item.' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > ann: POST /api/v1/items {"name":"of Ann","value":{"a":1}} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /api/v1/items/<id 7> · etag: "v1" · cache-control: no-store
{ id: '<id 7>', message: 'Item created.' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > ann: PUT /api/v1/items/<id 7> "x" 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'The body is not valid JSON.' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > ann: PUT /api/v1/items/<id 7> {"name":""} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'name must have 1 to 200 characters, not only spaces.' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > ann: PUT /api/v1/items/<id 7> {"name":"both","value":[1]} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v4" · cache-control: no-store
{ id: '<id 7>', message: 'Item updated.' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > ann: PUT /api/v1/items/<id 7> {"name":"renamed"} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v2" · cache-control: no-store
{ id: '<id 7>', message: 'Item updated.' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > ann: PUT /api/v1/items/<id 7> {"name":null} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'name must be a string.' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > ann: PUT /api/v1/items/<id 7> {"value":null} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v3" · cache-control: no-store
{ id: '<id 7>', message: 'Item updated.' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > ann: PUT /api/v1/items/<id 7> {} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v5" · cache-control: no-store
{ id: '<id 7>', message: 'Item updated.' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > bob: DELETE /api/v1/items/<id 7> 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'There is no such item.' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > bob: GET /api/v1/items/<id 7> 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'There is no such item.' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > bob: PUT /api/v1/items/<id 7> {"name":"x"} 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'There is no such item.' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > editor: GET /api/v1/items/<id 7> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v1" · cache-control: private, no-cache
{ id: '<id 7>', name: 'of Ann', value: { a: 1 }, created_at: '<time>' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > editor: PUT /api/v1/items/<id 7> {"name":"by the editor"} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v6" · cache-control: no-store
{ id: '<id 7>', message: 'Item updated.' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > machine that reads: GET /api/v1/items/<id 7> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v1" · cache-control: private, no-cache
{ id: '<id 7>', name: 'of Ann', value: { a: 1 }, created_at: '<time>' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > machine without scopes: DELETE /api/v1/items/<id 7> 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse", error="insufficient_scope", scope="write:data"
{ error: 'This needs the scope write:data.' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > machine without scopes: GET /api/v1/items/<id 7> 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse", error="insufficient_scope", scope="read:data read:all"
{ error: 'This needs the scope read:data or read:all.' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > machine without scopes: PUT /api/v1/items/<id 7> {"name":"x"} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse", error="insufficient_scope", scope="write:data"
{ error: 'This needs the scope write:data.' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > machine: DELETE /api/v1/items 1`] = `
405 · content-type: application/json; charset=utf-8 · cache-control: no-store · allow: GET, HEAD, POST
{ error: 'This path takes GET, HEAD, POST.' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > machine: GET /api/v1/items/<id 7> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v1" · cache-control: private, no-cache
{ id: '<id 7>', name: 'of Ann', value: { a: 1 }, created_at: '<time>' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > machine: GET /api/v1/items/itm_unknown 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'There is no such item.' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > machine: PATCH /api/v1/items/<id 7> {} 1`] = `
405 · content-type: application/json; charset=utf-8 · cache-control: no-store · allow: GET, HEAD, PUT, DELETE
{ error: 'This path takes GET, HEAD, PUT, DELETE.' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > machine: PUT /api/v1/items/itm_unknown {"name":"x"} 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'There is no such item.' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > nobody: DELETE /api/v1/items/<id 7> 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: 'This needs an access token or an API key in the Authorization header.' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > nobody: GET /api/v1/items/<id 7> 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: 'This needs an access token or an API key in the Authorization header.' }
`

exports[`services/items/test/wire.test.ts > TAP > one item: GET, PUT and DELETE > nobody: PUT /api/v1/items/<id 7> {"name":"x"} 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: 'This needs an access token or an API key in the Authorization header.' }
`

exports[`services/items/test/wire.test.ts > TAP > POST > machine that reads: POST /api/v1/items {"name":"a","value":1} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse", error="insufficient_scope", scope="write:data"
{ error: 'This needs the scope write:data.' }
`

exports[`services/items/test/wire.test.ts > TAP > POST > machine without scopes: POST /api/v1/items {"name":"a","value":1} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse", error="insufficient_scope", scope="write:data"
{ error: 'This needs the scope write:data.' }
`

exports[`services/items/test/wire.test.ts > TAP > POST > machine: POST /api/v1/items "{\\"name\\":" 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'The body is not valid JSON.' }
`

exports[`services/items/test/wire.test.ts > TAP > POST > machine: POST /api/v1/items [] 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'The body must be a JSON object.' }
`

exports[`services/items/test/wire.test.ts > TAP > POST > machine: POST /api/v1/items {"name":" ","value":1} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'name must have 1 to 200 characters, not only spaces.' }
`

exports[`services/items/test/wire.test.ts > TAP > POST > machine: POST /api/v1/items {"name":"n","value":"text"} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /api/v1/items/<id 2> · etag: "v1" · cache-control: no-store
{ id: '<id 2>', message: 'Item created.' }
`

exports[`services/items/test/wire.test.ts > TAP > POST > machine: POST /api/v1/items {"name":"n","value":[1,{"a":[]}]} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /api/v1/items/<id 5> · etag: "v1" · cache-control: no-store
{ id: '<id 5>', message: 'Item created.' }
`

exports[`services/items/test/wire.test.ts > TAP > POST > machine: POST /api/v1/items {"name":"n","value":{"":null,"$set":{"a.b":1}}} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /api/v1/items/<id 6> · etag: "v1" · cache-control: no-store
{ id: '<id 6>', message: 'Item created.' }
`

exports[`services/items/test/wire.test.ts > TAP > POST > machine: POST /api/v1/items {"name":"n","value":42} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /api/v1/items/<id 1> · etag: "v1" · cache-control: no-store
{ id: '<id 1>', message: 'Item created.' }
`

exports[`services/items/test/wire.test.ts > TAP > POST > machine: POST /api/v1/items {"name":"n","value":null} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /api/v1/items/<id 3> · etag: "v1" · cache-control: no-store
{ id: '<id 3>', message: 'Item created.' }
`

exports[`services/items/test/wire.test.ts > TAP > POST > machine: POST /api/v1/items {"name":"n","value":true} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /api/v1/items/<id 4> · etag: "v1" · cache-control: no-store
{ id: '<id 4>', message: 'Item created.' }
`

exports[`services/items/test/wire.test.ts > TAP > POST > machine: POST /api/v1/items {"name":"n"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'value is required.' }
`

exports[`services/items/test/wire.test.ts > TAP > POST > machine: POST /api/v1/items {"name":"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn","value":1} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'name must have 1 to 200 characters, not only spaces.' }
`

exports[`services/items/test/wire.test.ts > TAP > POST > machine: POST /api/v1/items {"name":1,"value":1} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'name must be a string.' }
`

exports[`services/items/test/wire.test.ts > TAP > POST > machine: POST /api/v1/items {"value":1} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'name is required.' }
`

exports[`services/items/test/wire.test.ts > TAP > POST > machine: POST /api/v1/items {} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'name is required; value is required.' }
`

exports[`services/items/test/wire.test.ts > TAP > POST > nobody: POST /api/v1/items {"name":"a","value":1} 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: 'This needs an access token or an API key in the Authorization header.' }
`

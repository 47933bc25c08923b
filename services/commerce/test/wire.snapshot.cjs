/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > machine: GET /products?limit=1 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 1>', name: 'Green tea', price: 12.5, currency: 'USD', description: null, category: 'Tea', stock: 40, sku: 'TEA-1', status: 'active', created_at: '<time>', updated_at: '<time>' } ], meta: { total: 3, limit: 1, page: 1, pages: 3 } }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > machine: GET /v2/products 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{
  data: [
    { id: '<id 1>', name: 'Green tea', price: 12.5, currency: 'USD', description: null, category: 'Tea', stock: 40, sku: 'TEA-1', status: 'active', created_at: '<time>', updated_at: '<time>' },
    { id: '<id 2>', name: 'Rice', price: 900, currency: 'JPY', description: 'Short.', category: null, stock: 0, sku: null, status: 'active', created_at: '<time>', updated_at: '<time>' },
    { id: '<id 3>', name: 'Dates', price: 1.125, currency: 'KWD', description: null, category: null, stock: 0, sku: null, status: 'inactive', created_at: '<time>', updated_at: '<time>' }
  ],
  meta: { total: 3, limit: 20, page: 1, pages: 1 }
}
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > machine: GET /v2/products?category=Tea 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 1>', name: 'Green tea', price: 12.5, currency: 'USD', description: null, category: 'Tea', stock: 40, sku: 'TEA-1', status: 'active', created_at: '<time>', updated_at: '<time>' } ], meta: { total: 1, limit: 20, page: 1, pages: 1 } }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > machine: GET /v2/products?cursor=<cursor> 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'cursor is not one of a link of this list.', details: [ { field: 'cursor', message: 'is not one of a link of this list' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > machine: GET /v2/products?filter[colour]=red 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'filter[colour] is no filter here; there are id, name, category, price, currency, stock, sku, status, created_at, updated_at.', details: [ { field: 'filter[colour]', message: 'is no filter here; there are id, name, category, price, currency, stock, sku, status, created_at, updated_at' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > machine: GET /v2/products?filter[price][gte]=12.5&limit=1 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 1>', name: 'Green tea', price: 12.5, currency: 'USD', description: null, category: 'Tea', stock: 40, sku: 'TEA-1', status: 'active', created_at: '<time>', updated_at: '<time>' } ], meta: { total: 2, limit: 1, page: 1, pages: 2 } }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > machine: GET /v2/products?filter[price]=cheap 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'filter[price] must be a number such as 12 or 12.50.', details: [ { field: 'filter[price]', message: 'must be a number such as 12 or 12.50' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > machine: GET /v2/products?filter[status]=inactive 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 3>', name: 'Dates', price: 1.125, currency: 'KWD', description: null, category: null, stock: 0, sku: null, status: 'inactive', created_at: '<time>', updated_at: '<time>' } ], meta: { total: 1, limit: 20, page: 1, pages: 1 } }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > machine: GET /v2/products?limit=101 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'limit must be at most 100.', details: [ { field: 'limit', message: 'must be at most 100' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > machine: GET /v2/products?limit=2 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{
  data: [
    { id: '<id 1>', name: 'Green tea', price: 12.5, currency: 'USD', description: null, category: 'Tea', stock: 40, sku: 'TEA-1', status: 'active', created_at: '<time>', updated_at: '<time>' },
    { id: '<id 2>', name: 'Rice', price: 900, currency: 'JPY', description: 'Short.', category: null, stock: 0, sku: null, status: 'active', created_at: '<time>', updated_at: '<time>' }
  ],
  meta: { total: 3, limit: 2, page: 1, pages: 2 }
}
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > machine: GET /v2/products?limit=2&cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{
  data: [
    { id: '<id 1>', name: 'Green tea', price: 12.5, currency: 'USD', description: null, category: 'Tea', stock: 40, sku: 'TEA-1', status: 'active', created_at: '<time>', updated_at: '<time>' },
    { id: '<id 2>', name: 'Rice', price: 900, currency: 'JPY', description: 'Short.', category: null, stock: 0, sku: null, status: 'active', created_at: '<time>', updated_at: '<time>' }
  ],
  links: { next: '/v2/products?limit=2&cursor=<cursor>' },
  meta: { totalItems: 3, itemsPerPage: 2, currentPage: 1, hasNextPage: true, hasPrevPage: false }
}
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > machine: GET /v2/products?limit=2&page=2 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 3>', name: 'Dates', price: 1.125, currency: 'KWD', description: null, category: null, stock: 0, sku: null, status: 'inactive', created_at: '<time>', updated_at: '<time>' } ], meta: { total: 3, limit: 2, page: 2, pages: 2 } }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > machine: GET /v2/products?page=9 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [], meta: { total: 3, limit: 20, page: 9, pages: 1 } }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > machine: GET /v2/products?sort=colour 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'sort must be one of name, price, stock, created_at, updated_at.', details: [ { field: 'sort', message: 'must be one of name, price, stock, created_at, updated_at' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > machine: GET /v2/products?sort=price&order=desc&limit=1 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 2>', name: 'Rice', price: 900, currency: 'JPY', description: 'Short.', category: null, stock: 0, sku: null, status: 'active', created_at: '<time>', updated_at: '<time>' } ], meta: { total: 3, limit: 1, page: 1, pages: 3 } }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > nobody: GET /api/v1/products 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: 'This needs an access token or an API key in the Authorization header.' }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > nobody: GET /api/v1/products/categories 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: 'This needs an access token or an API key in the Authorization header.' }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > nobody: GET /v2/products 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'unauthorized', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > user: GET /api/v1/products 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[
  { id: '<id 1>', name: 'Green tea', price: 12.5, currency: 'USD', description: null, category: 'Tea', stock: 40, sku: 'TEA-1', status: 'active', created_at: '<time>', updated_at: '<time>' },
  { id: '<id 2>', name: 'Rice', price: 900, currency: 'JPY', description: 'Short.', category: null, stock: 0, sku: null, status: 'active', created_at: '<time>', updated_at: '<time>' },
  { id: '<id 3>', name: 'Dates', price: 1.125, currency: 'KWD', description: null, category: null, stock: 0, sku: null, status: 'inactive', created_at: '<time>', updated_at: '<time>' }
]
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > user: GET /api/v1/products?category=Tea 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[ { id: '<id 1>', name: 'Green tea', price: 12.5, currency: 'USD', description: null, category: 'Tea', stock: 40, sku: 'TEA-1', status: 'active', created_at: '<time>', updated_at: '<time>' } ]
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > user: GET /api/v1/products?limit=1 1`] = `
200 · content-type: application/json; charset=utf-8 · link: </api/v1/products?limit=1&cursor=<cursor>>; rel="next" · cache-control: no-store
[ { id: '<id 1>', name: 'Green tea', price: 12.5, currency: 'USD', description: null, category: 'Tea', stock: 40, sku: 'TEA-1', status: 'active', created_at: '<time>', updated_at: '<time>' } ]
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > user: GET /api/v1/products?limit=1&cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{
  data: [ { id: '<id 1>', name: 'Green tea', price: 12.5, currency: 'USD', description: null, category: 'Tea', stock: 40, sku: 'TEA-1', status: 'active', created_at: '<time>', updated_at: '<time>' } ],
  links: { next: '/api/v1/products?limit=1&cursor=<cursor>' },
  meta: { totalItems: 3, itemsPerPage: 1, currentPage: 1, hasNextPage: true, hasPrevPage: false }
}
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > user: GET /api/v1/products?limit=1&offset=1 1`] = `
200 · content-type: application/json; charset=utf-8 · link: </api/v1/products?limit=1&cursor=<cursor>>; rel="next" · cache-control: no-store
[ { id: '<id 2>', name: 'Rice', price: 900, currency: 'JPY', description: 'Short.', category: null, stock: 0, sku: null, status: 'active', created_at: '<time>', updated_at: '<time>' } ]
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > user: GET /api/v1/products?limit=x 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'limit must be a whole number.' }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > user: GET /api/v1/products/categories 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[ { name: 'Tea', products: 1 } ]
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > user: GET /products/categories 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { name: 'Tea', products: 1 } ] }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the lists > user: GET /v2/products/categories 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { name: 'Tea', products: 1 } ] }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the search > nobody: GET /v2/products/search?q=tea 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'unauthorized', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the search > user: GET /api/v1/products?q=tea&limit=1 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[ { id: '<id 1>', name: 'Green tea', price: 12.5, currency: 'USD', description: null, category: 'Tea', stock: 40, sku: 'TEA-1', status: 'active', created_at: '<time>', updated_at: '<time>' } ]
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the search > user: GET /products/search 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'q is required.', details: [ { field: 'q', message: 'is required' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the search > user: GET /products/search?q=green te 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 1>', name: 'Green tea', price: 12.5, currency: 'USD', description: null, category: 'Tea', stock: 40, sku: 'TEA-1', status: 'active', created_at: '<time>', updated_at: '<time>' } ], meta: { total: 1, limit: 20, page: 1, pages: 1 }, facets: { category: [ { value: 'Tea', count: 1 } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the search > user: GET /products/search?q=nothing 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [], meta: { total: 0, limit: 20, page: 1, pages: 0 }, facets: { category: [] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the search > user: GET /products/search?q=tea&cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 1>', name: 'Green tea', price: 12.5, currency: 'USD', description: null, category: 'Tea', stock: 40, sku: 'TEA-1', status: 'active', created_at: '<time>', updated_at: '<time>' } ], links: {}, meta: { totalItems: 1, itemsPerPage: 1, currentPage: 1, hasNextPage: false, hasPrevPage: false } }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the search > user: GET /products/search?q=tea&sort=name 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'sort must be one of relevance, price, created_at.', details: [ { field: 'sort', message: 'must be one of relevance, price, created_at' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the search > user: GET /v2/products/search 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'q is required.', details: [ { field: 'q', message: 'is required' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the search > user: GET /v2/products/search?q=green te 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 1>', name: 'Green tea', price: 12.5, currency: 'USD', description: null, category: 'Tea', stock: 40, sku: 'TEA-1', status: 'active', created_at: '<time>', updated_at: '<time>' } ], meta: { total: 1, limit: 20, page: 1, pages: 1 }, facets: { category: [ { value: 'Tea', count: 1 } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the search > user: GET /v2/products/search?q=nothing 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [], meta: { total: 0, limit: 20, page: 1, pages: 0 }, facets: { category: [] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the search > user: GET /v2/products/search?q=tea&cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 1>', name: 'Green tea', price: 12.5, currency: 'USD', description: null, category: 'Tea', stock: 40, sku: 'TEA-1', status: 'active', created_at: '<time>', updated_at: '<time>' } ], links: {}, meta: { totalItems: 1, itemsPerPage: 1, currentPage: 1, hasNextPage: false, hasPrevPage: false } }
`

exports[`services/commerce/test/wire.test.ts > TAP > GET, the search > user: GET /v2/products/search?q=tea&sort=name 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'sort must be one of relevance, price, created_at.', details: [ { field: 'sort', message: 'must be one of relevance, price, created_at' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > no products yet > machine: GET /api/v1/products 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[]
`

exports[`services/commerce/test/wire.test.ts > TAP > no products yet > machine: GET /api/v1/products?cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [], links: {}, meta: { totalItems: 0, itemsPerPage: 0, currentPage: 1, hasNextPage: false, hasPrevPage: false } }
`

exports[`services/commerce/test/wire.test.ts > TAP > no products yet > machine: GET /api/v1/products/categories 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[]
`

exports[`services/commerce/test/wire.test.ts > TAP > no products yet > machine: GET /v2/products 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [], meta: { total: 0, limit: 20, page: 1, pages: 0 } }
`

exports[`services/commerce/test/wire.test.ts > TAP > no products yet > machine: GET /v2/products?cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [], links: {}, meta: { totalItems: 0, itemsPerPage: 0, currentPage: 1, hasNextPage: false, hasPrevPage: false } }
`

exports[`services/commerce/test/wire.test.ts > TAP > one product: GET, PUT and DELETE > machine: DELETE /v2/products/<id 4> 1`] = `
204
(no body)
`

exports[`services/commerce/test/wire.test.ts > TAP > one product: GET, PUT and DELETE > machine: DELETE /v2/products/<id 4> 2`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'not_found', message: 'There is no such product.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > one product: GET, PUT and DELETE > machine: GET /api/v1/products/<id 4> 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'There is nothing here.' }
`

exports[`services/commerce/test/wire.test.ts > TAP > one product: GET, PUT and DELETE > machine: GET /v2/products/<id 4> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v1" · cache-control: private, no-cache
{ id: '<id 4>', name: 'Black tea', price: 3, currency: 'EUR', description: null, category: null, stock: 0, sku: null, status: 'active', created_at: '<time>', updated_at: '<time>' }
`

exports[`services/commerce/test/wire.test.ts > TAP > one product: GET, PUT and DELETE > machine: GET /v2/products/<id 4> 2`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'not_found', message: 'There is no such product.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > one product: GET, PUT and DELETE > machine: PATCH /v2/products/<id 4> {} 1`] = `
405 · content-type: application/json; charset=utf-8 · cache-control: no-store · allow: GET, HEAD, PUT, DELETE
{ error: { code: 'method_not_allowed', message: 'This path takes GET, HEAD, PUT, DELETE.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > one product: GET, PUT and DELETE > machine: POST /v2/products {"name":"Black tea","price":3,"currency":"EUR"} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /v2/products/<id 4> · etag: "v1" · cache-control: no-store
{ id: '<id 4>', name: 'Black tea', price: 3, currency: 'EUR', description: null, category: null, stock: 0, sku: null, status: 'active', created_at: '<time>', updated_at: '<time>' }
`

exports[`services/commerce/test/wire.test.ts > TAP > one product: GET, PUT and DELETE > machine: PUT /products/<id 4> {"stock":6} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v6" · cache-control: no-store
{ id: '<id 4>', name: 'Black tea', price: 3.5, currency: 'EUR', description: null, category: null, stock: 6, sku: 'TEA-2', status: 'active', created_at: '<time>', updated_at: '<time>' }
`

exports[`services/commerce/test/wire.test.ts > TAP > one product: GET, PUT and DELETE > machine: PUT /v2/products/<id 4> {"category":"Tea","sku":"TEA-2"} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v3" · cache-control: no-store
{ id: '<id 4>', name: 'Black tea', price: 3.5, currency: 'EUR', description: null, category: 'Tea', stock: 7, sku: 'TEA-2', status: 'active', created_at: '<time>', updated_at: '<time>' }
`

exports[`services/commerce/test/wire.test.ts > TAP > one product: GET, PUT and DELETE > machine: PUT /v2/products/<id 4> {"category":null} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v4" · cache-control: no-store
{ id: '<id 4>', name: 'Black tea', price: 3.5, currency: 'EUR', description: null, category: null, stock: 7, sku: 'TEA-2', status: 'active', created_at: '<time>', updated_at: '<time>' }
`

exports[`services/commerce/test/wire.test.ts > TAP > one product: GET, PUT and DELETE > machine: PUT /v2/products/<id 4> {"currency":"JPY"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'price is required with another currency.', details: [ { field: 'price', message: 'is required with another currency' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > one product: GET, PUT and DELETE > machine: PUT /v2/products/<id 4> {"name":null} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'name must be a string.', details: [ { field: 'name', message: 'must be a string' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > one product: GET, PUT and DELETE > machine: PUT /v2/products/<id 4> {"price":3.5,"stock":7} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v2" · cache-control: no-store
{ id: '<id 4>', name: 'Black tea', price: 3.5, currency: 'EUR', description: null, category: null, stock: 7, sku: null, status: 'active', created_at: '<time>', updated_at: '<time>' }
`

exports[`services/commerce/test/wire.test.ts > TAP > one product: GET, PUT and DELETE > machine: PUT /v2/products/<id 4> {"price":3.555} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'price must be a number of EUR from 0, with at most 2 decimals.', details: [ { field: 'price', message: 'must be a number of EUR from 0, with at most 2 decimals' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > one product: GET, PUT and DELETE > machine: PUT /v2/products/<id 4> {"sku":"tea-1"} 1`] = `
409 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'conflict', message: 'This sku is taken.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > one product: GET, PUT and DELETE > machine: PUT /v2/products/<id 4> {} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v5" · cache-control: no-store
{ id: '<id 4>', name: 'Black tea', price: 3.5, currency: 'EUR', description: null, category: null, stock: 7, sku: 'TEA-2', status: 'active', created_at: '<time>', updated_at: '<time>' }
`

exports[`services/commerce/test/wire.test.ts > TAP > one product: GET, PUT and DELETE > machine: PUT /v2/products/prd_unknown {} 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'not_found', message: 'There is no such product.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > one product: GET, PUT and DELETE > nobody: GET /v2/products/<id 4> 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'unauthorized', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > one product: GET, PUT and DELETE > user: DELETE /v2/products/<id 4> 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'forbidden', message: 'You are not permitted to change products: that is for editors, admins and trusted applications.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > one product: GET, PUT and DELETE > user: GET /products/<id 4> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v1" · cache-control: private, no-cache
{ id: '<id 4>', name: 'Black tea', price: 3, currency: 'EUR', description: null, category: null, stock: 0, sku: null, status: 'active', created_at: '<time>', updated_at: '<time>' }
`

exports[`services/commerce/test/wire.test.ts > TAP > one product: GET, PUT and DELETE > user: GET /v2/products/<id 4> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v1" · cache-control: private, no-cache
{ id: '<id 4>', name: 'Black tea', price: 3, currency: 'EUR', description: null, category: null, stock: 0, sku: null, status: 'active', created_at: '<time>', updated_at: '<time>' }
`

exports[`services/commerce/test/wire.test.ts > TAP > one product: GET, PUT and DELETE > user: GET /v2/products/prd_unknown 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'not_found', message: 'There is no such product.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > one product: GET, PUT and DELETE > user: PUT /v2/products/<id 4> {"stock":1} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'forbidden', message: 'You are not permitted to change products: that is for editors, admins and trusted applications.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > machine: DELETE /api/v1/orders/<id 9> 1`] = `
405 · content-type: application/json; charset=utf-8 · cache-control: no-store · allow: GET, HEAD, PUT
{ error: 'This path takes GET, HEAD, PUT.' }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > machine: DELETE /orders/<id 8> 1`] = `
405 · content-type: application/json; charset=utf-8 · cache-control: no-store · allow: GET, HEAD, PUT
{ error: { code: 'method_not_allowed', message: 'This path takes GET, HEAD, PUT.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > machine: DELETE /v2/orders/<id 6> 1`] = `
405 · content-type: application/json; charset=utf-8 · cache-control: no-store · allow: GET, HEAD, PUT
{ error: { code: 'method_not_allowed', message: 'This path takes GET, HEAD, PUT.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > machine: PATCH /api/v1/orders/<id 9>/status {"status":"processing"} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v3" · cache-control: no-store
{
  id: '<id 9>',
  user_id: '<id 7>',
  status: 'processing',
  items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ],
  currency: 'USD',
  total_amount: 25,
  status_history: [ { status: 'pending', at: '<time>', note: null }, { status: 'confirmed', at: '<time>', note: 'Paid.' }, { status: 'processing', at: '<time>', note: null } ],
  created_at: '<time>',
  updated_at: '<time>'
}
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > machine: PATCH /orders/<id 8>/status {"status":"processing"} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v3" · cache-control: no-store
{
  id: '<id 8>',
  user_id: '<id 7>',
  status: 'processing',
  items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ],
  currency: 'USD',
  total_amount: 25,
  status_history: [ { status: 'pending', at: '<time>', note: null }, { status: 'confirmed', at: '<time>', note: 'Paid.' }, { status: 'processing', at: '<time>', note: null } ],
  created_at: '<time>',
  updated_at: '<time>'
}
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > machine: PATCH /v2/orders/<id 6>/status {"status":"processing"} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v3" · cache-control: no-store
{
  id: '<id 6>',
  user_id: '<id 7>',
  status: 'processing',
  items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ],
  currency: 'USD',
  total_amount: 25,
  status_history: [ { status: 'pending', at: '<time>', note: null }, { status: 'confirmed', at: '<time>', note: 'Paid.' }, { status: 'processing', at: '<time>', note: null } ],
  created_at: '<time>',
  updated_at: '<time>'
}
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > machine: POST /api/v1/orders/<id 9>/status {"status":"cancelled"} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v4" · cache-control: no-store
{
  id: '<id 9>',
  user_id: '<id 7>',
  status: 'cancelled',
  items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ],
  currency: 'USD',
  total_amount: 25,
  status_history: [ { status: 'pending', at: '<time>', note: null }, { status: 'confirmed', at: '<time>', note: 'Paid.' }, { status: 'processing', at: '<time>', note: null }, { status: 'cancelled', at: '<time>', note: null } ],
  created_at: '<time>',
  updated_at: '<time>'
}
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > machine: POST /orders/<id 8>/status {"status":"cancelled"} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v4" · cache-control: no-store
{
  id: '<id 8>',
  user_id: '<id 7>',
  status: 'cancelled',
  items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ],
  currency: 'USD',
  total_amount: 25,
  status_history: [ { status: 'pending', at: '<time>', note: null }, { status: 'confirmed', at: '<time>', note: 'Paid.' }, { status: 'processing', at: '<time>', note: null }, { status: 'cancelled', at: '<time>', note: null } ],
  created_at: '<time>',
  updated_at: '<time>'
}
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > machine: POST /v2/orders/<id 6>/status {"status":"cancelled"} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v4" · cache-control: no-store
{
  id: '<id 6>',
  user_id: '<id 7>',
  status: 'cancelled',
  items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ],
  currency: 'USD',
  total_amount: 25,
  status_history: [ { status: 'pending', at: '<time>', note: null }, { status: 'confirmed', at: '<time>', note: 'Paid.' }, { status: 'processing', at: '<time>', note: null }, { status: 'cancelled', at: '<time>', note: null } ],
  created_at: '<time>',
  updated_at: '<time>'
}
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > machine: POST /v2/products {"name":"Green tea","price":12.5,"currency":"USD","category":"Tea","stock":5,"sku":null} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /v2/products/<id 5> · etag: "v1" · cache-control: no-store
{ id: '<id 5>', name: 'Green tea', price: 12.5, currency: 'USD', description: null, category: 'Tea', stock: 5, sku: null, status: 'active', created_at: '<time>', updated_at: '<time>' }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > machine: PUT /api/v1/orders/<id 9> {"status":"confirmed","note":"Paid."} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v2" · cache-control: no-store
{ id: '<id 9>', user_id: '<id 7>', status: 'confirmed', items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ], currency: 'USD', total_amount: 25, status_history: [ { status: 'pending', at: '<time>', note: null }, { status: 'confirmed', at: '<time>', note: 'Paid.' } ], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > machine: PUT /api/v1/orders/<id 9> {"status":"delivered"} 1`] = `
409 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'An order that is confirmed cannot become delivered: next is processing or cancelled.' }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > machine: PUT /api/v1/orders/<id 9> {"status":"lost"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'status must be one of pending, confirmed, processing, shipped, delivered, cancelled, refunded.' }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > machine: PUT /api/v1/orders/<id 9>/status {"status":"pending"} 1`] = `
409 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'An order that is cancelled cannot become pending: it is final.' }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > machine: PUT /orders/<id 8> {"status":"confirmed","note":"Paid."} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v2" · cache-control: no-store
{ id: '<id 8>', user_id: '<id 7>', status: 'confirmed', items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ], currency: 'USD', total_amount: 25, status_history: [ { status: 'pending', at: '<time>', note: null }, { status: 'confirmed', at: '<time>', note: 'Paid.' } ], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > machine: PUT /orders/<id 8> {"status":"delivered"} 1`] = `
409 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'conflict', message: 'An order that is confirmed cannot become delivered: next is processing or cancelled.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > machine: PUT /orders/<id 8> {"status":"lost"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'status must be one of pending, confirmed, processing, shipped, delivered, cancelled, refunded.', details: [ { field: 'status', message: 'must be one of pending, confirmed, processing, shipped, delivered, cancelled, refunded' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > machine: PUT /orders/<id 8>/status {"status":"pending"} 1`] = `
409 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'conflict', message: 'An order that is cancelled cannot become pending: it is final.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > machine: PUT /v2/orders/<id 6> {"status":"confirmed","note":"Paid."} 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v2" · cache-control: no-store
{ id: '<id 6>', user_id: '<id 7>', status: 'confirmed', items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ], currency: 'USD', total_amount: 25, status_history: [ { status: 'pending', at: '<time>', note: null }, { status: 'confirmed', at: '<time>', note: 'Paid.' } ], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > machine: PUT /v2/orders/<id 6> {"status":"delivered"} 1`] = `
409 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'conflict', message: 'An order that is confirmed cannot become delivered: next is processing or cancelled.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > machine: PUT /v2/orders/<id 6> {"status":"lost"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'status must be one of pending, confirmed, processing, shipped, delivered, cancelled, refunded.', details: [ { field: 'status', message: 'must be one of pending, confirmed, processing, shipped, delivered, cancelled, refunded' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > machine: PUT /v2/orders/<id 6>/status {"status":"pending"} 1`] = `
409 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'conflict', message: 'An order that is cancelled cannot become pending: it is final.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > nobody: GET /api/v1/orders/<id 9> 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: 'This needs an access token or an API key in the Authorization header.' }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > nobody: GET /orders/<id 8> 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'unauthorized', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > nobody: GET /v2/orders/<id 6> 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'unauthorized', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: GET /api/v1/orders 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[
  {
    id: '<id 6>',
    user_id: '<id 7>',
    status: 'cancelled',
    items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ],
    currency: 'USD',
    total_amount: 25,
    status_history: [ { status: 'pending', at: '<time>', note: null }, { status: 'confirmed', at: '<time>', note: 'Paid.' }, { status: 'processing', at: '<time>', note: null }, { status: 'cancelled', at: '<time>', note: null } ],
    created_at: '<time>',
    updated_at: '<time>'
  },
  {
    id: '<id 8>',
    user_id: '<id 7>',
    status: 'cancelled',
    items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ],
    currency: 'USD',
    total_amount: 25,
    status_history: [ { status: 'pending', at: '<time>', note: null }, { status: 'confirmed', at: '<time>', note: 'Paid.' }, { status: 'processing', at: '<time>', note: null }, { status: 'cancelled', at: '<time>', note: null } ],
    created_at: '<time>',
    updated_at: '<time>'
  }
]
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: GET /api/v1/orders 2`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[
  {
    id: '<id 6>',
    user_id: '<id 7>',
    status: 'cancelled',
    items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ],
    currency: 'USD',
    total_amount: 25,
    status_history: [ { status: 'pending', at: '<time>', note: null }, { status: 'confirmed', at: '<time>', note: 'Paid.' }, { status: 'processing', at: '<time>', note: null }, { status: 'cancelled', at: '<time>', note: null } ],
    created_at: '<time>',
    updated_at: '<time>'
  },
  {
    id: '<id 8>',
    user_id: '<id 7>',
    status: 'cancelled',
    items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ],
    currency: 'USD',
    total_amount: 25,
    status_history: [ { status: 'pending', at: '<time>', note: null }, { status: 'confirmed', at: '<time>', note: 'Paid.' }, { status: 'processing', at: '<time>', note: null }, { status: 'cancelled', at: '<time>', note: null } ],
    created_at: '<time>',
    updated_at: '<time>'
  },
  { id: '<id 9>', user_id: '<id 7>', status: 'pending', items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ], currency: 'USD', total_amount: 25, status_history: [ { status: 'pending', at: '<time>', note: null } ], created_at: '<time>', updated_at: '<time>' }
]
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: GET /api/v1/orders?cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{
  data: [
    {
      id: '<id 6>',
      user_id: '<id 7>',
      status: 'cancelled',
      items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ],
      currency: 'USD',
      total_amount: 25,
      status_history: [ { status: 'pending', at: '<time>', note: null }, { status: 'confirmed', at: '<time>', note: 'Paid.' }, { status: 'processing', at: '<time>', note: null }, { status: 'cancelled', at: '<time>', note: null } ],
      created_at: '<time>',
      updated_at: '<time>'
    },
    {
      id: '<id 8>',
      user_id: '<id 7>',
      status: 'cancelled',
      items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ],
      currency: 'USD',
      total_amount: 25,
      status_history: [ { status: 'pending', at: '<time>', note: null }, { status: 'confirmed', at: '<time>', note: 'Paid.' }, { status: 'processing', at: '<time>', note: null }, { status: 'cancelled', at: '<time>', note: null } ],
      created_at: '<time>',
      updated_at: '<time>'
    },
    { id: '<id 9>', user_id: '<id 7>', status: 'pending', items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ], currency: 'USD', total_amount: 25, status_history: [ { status: 'pending', at: '<time>', note: null } ], created_at: '<time>', updated_at: '<time>' }
  ],
  links: {},
  meta: { totalItems: 3, itemsPerPage: 3, currentPage: 1, hasNextPage: false, hasPrevPage: false }
}
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: GET /api/v1/orders?filter[total_amount][gt]=1&filter[status]=pending&limit=1 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
[ { id: '<id 9>', user_id: '<id 7>', status: 'pending', items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ], currency: 'USD', total_amount: 25, status_history: [ { status: 'pending', at: '<time>', note: null } ], created_at: '<time>', updated_at: '<time>' } ]
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: GET /api/v1/orders?status=lost 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'status must be one of pending, confirmed, processing, shipped, delivered, cancelled, refunded.' }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: GET /api/v1/orders/<id 9> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v1" · cache-control: private, no-cache
{ id: '<id 9>', user_id: '<id 7>', status: 'pending', items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ], currency: 'USD', total_amount: 25, status_history: [ { status: 'pending', at: '<time>', note: null } ], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: GET /api/v1/orders/ord_unknown 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'There is no such order.' }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: GET /orders 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{
  data: [
    {
      id: '<id 6>',
      user_id: '<id 7>',
      status: 'cancelled',
      items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ],
      currency: 'USD',
      total_amount: 25,
      status_history: [ { status: 'pending', at: '<time>', note: null }, { status: 'confirmed', at: '<time>', note: 'Paid.' }, { status: 'processing', at: '<time>', note: null }, { status: 'cancelled', at: '<time>', note: null } ],
      created_at: '<time>',
      updated_at: '<time>'
    }
  ],
  meta: { total: 1, limit: 20, page: 1, pages: 1 }
}
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: GET /orders 2`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{
  data: [
    {
      id: '<id 6>',
      user_id: '<id 7>',
      status: 'cancelled',
      items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ],
      currency: 'USD',
      total_amount: 25,
      status_history: [ { status: 'pending', at: '<time>', note: null }, { status: 'confirmed', at: '<time>', note: 'Paid.' }, { status: 'processing', at: '<time>', note: null }, { status: 'cancelled', at: '<time>', note: null } ],
      created_at: '<time>',
      updated_at: '<time>'
    },
    { id: '<id 8>', user_id: '<id 7>', status: 'pending', items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ], currency: 'USD', total_amount: 25, status_history: [ { status: 'pending', at: '<time>', note: null } ], created_at: '<time>', updated_at: '<time>' }
  ],
  meta: { total: 2, limit: 20, page: 1, pages: 1 }
}
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: GET /orders?cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{
  data: [
    {
      id: '<id 6>',
      user_id: '<id 7>',
      status: 'cancelled',
      items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ],
      currency: 'USD',
      total_amount: 25,
      status_history: [ { status: 'pending', at: '<time>', note: null }, { status: 'confirmed', at: '<time>', note: 'Paid.' }, { status: 'processing', at: '<time>', note: null }, { status: 'cancelled', at: '<time>', note: null } ],
      created_at: '<time>',
      updated_at: '<time>'
    },
    { id: '<id 8>', user_id: '<id 7>', status: 'pending', items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ], currency: 'USD', total_amount: 25, status_history: [ { status: 'pending', at: '<time>', note: null } ], created_at: '<time>', updated_at: '<time>' }
  ],
  links: {},
  meta: { totalItems: 2, itemsPerPage: 2, currentPage: 1, hasNextPage: false, hasPrevPage: false }
}
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: GET /orders?filter[total_amount][gt]=1&filter[status]=pending&limit=1 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 8>', user_id: '<id 7>', status: 'pending', items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ], currency: 'USD', total_amount: 25, status_history: [ { status: 'pending', at: '<time>', note: null } ], created_at: '<time>', updated_at: '<time>' } ], meta: { total: 1, limit: 1, page: 1, pages: 1 } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: GET /orders?status=lost 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'status must be one of pending, confirmed, processing, shipped, delivered, cancelled, refunded.', details: [ { field: 'status', message: 'must be one of pending, confirmed, processing, shipped, delivered, cancelled, refunded' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: GET /orders/<id 8> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v1" · cache-control: private, no-cache
{ id: '<id 8>', user_id: '<id 7>', status: 'pending', items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ], currency: 'USD', total_amount: 25, status_history: [ { status: 'pending', at: '<time>', note: null } ], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: GET /orders/ord_unknown 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'not_found', message: 'There is no such order.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: GET /v2/orders 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [], meta: { total: 0, limit: 20, page: 1, pages: 0 } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: GET /v2/orders 2`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 6>', user_id: '<id 7>', status: 'pending', items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ], currency: 'USD', total_amount: 25, status_history: [ { status: 'pending', at: '<time>', note: null } ], created_at: '<time>', updated_at: '<time>' } ], meta: { total: 1, limit: 20, page: 1, pages: 1 } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: GET /v2/orders?cursor= 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{
  data: [ { id: '<id 6>', user_id: '<id 7>', status: 'pending', items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ], currency: 'USD', total_amount: 25, status_history: [ { status: 'pending', at: '<time>', note: null } ], created_at: '<time>', updated_at: '<time>' } ],
  links: {},
  meta: { totalItems: 1, itemsPerPage: 1, currentPage: 1, hasNextPage: false, hasPrevPage: false }
}
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: GET /v2/orders?filter[total_amount][gt]=1&filter[status]=pending&limit=1 1`] = `
200 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ data: [ { id: '<id 6>', user_id: '<id 7>', status: 'pending', items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ], currency: 'USD', total_amount: 25, status_history: [ { status: 'pending', at: '<time>', note: null } ], created_at: '<time>', updated_at: '<time>' } ], meta: { total: 1, limit: 1, page: 1, pages: 1 } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: GET /v2/orders?status=lost 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'status must be one of pending, confirmed, processing, shipped, delivered, cancelled, refunded.', details: [ { field: 'status', message: 'must be one of pending, confirmed, processing, shipped, delivered, cancelled, refunded' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: GET /v2/orders/<id 6> 1`] = `
200 · content-type: application/json; charset=utf-8 · etag: "v1" · cache-control: private, no-cache
{ id: '<id 6>', user_id: '<id 7>', status: 'pending', items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ], currency: 'USD', total_amount: 25, status_history: [ { status: 'pending', at: '<time>', note: null } ], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: GET /v2/orders/ord_unknown 1`] = `
404 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'not_found', message: 'There is no such order.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: POST /api/v1/orders {"currency":"USD"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'items is required.' }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: POST /api/v1/orders {"items":[],"currency":"USD"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'items must have 1 to 200 entries.' }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: POST /api/v1/orders {"items":[{"product_id":"<id 5>","quantity":2}],"currency":"EUR"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'currency must be USD, the currency of <id 5>.' }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: POST /api/v1/orders {"items":[{"product_id":"<id 5>","quantity":2}],"currency":"USD"} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /api/v1/orders/<id 9> · etag: "v1" · cache-control: no-store
{ id: '<id 9>', user_id: '<id 7>', status: 'pending', items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ], currency: 'USD', total_amount: 25, status_history: [ { status: 'pending', at: '<time>', note: null } ], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: POST /orders {"currency":"USD"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'items is required.', details: [ { field: 'items', message: 'is required' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: POST /orders {"items":[],"currency":"USD"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'items must have 1 to 200 entries.', details: [ { field: 'items', message: 'must have 1 to 200 entries' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: POST /orders {"items":[{"product_id":"<id 5>","quantity":2}],"currency":"EUR"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'currency must be USD, the currency of <id 5>.', details: [ { field: 'currency', message: 'must be USD, the currency of <id 5>' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: POST /orders {"items":[{"product_id":"<id 5>","quantity":2}],"currency":"USD"} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /orders/<id 8> · etag: "v1" · cache-control: no-store
{ id: '<id 8>', user_id: '<id 7>', status: 'pending', items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ], currency: 'USD', total_amount: 25, status_history: [ { status: 'pending', at: '<time>', note: null } ], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: POST /v2/orders {"currency":"USD"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'items is required.', details: [ { field: 'items', message: 'is required' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: POST /v2/orders {"items":[],"currency":"USD"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'items must have 1 to 200 entries.', details: [ { field: 'items', message: 'must have 1 to 200 entries' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: POST /v2/orders {"items":[{"product_id":"<id 5>","quantity":2}],"currency":"EUR"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'currency must be USD, the currency of <id 5>.', details: [ { field: 'currency', message: 'must be USD, the currency of <id 5>' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: POST /v2/orders {"items":[{"product_id":"<id 5>","quantity":2}],"currency":"USD"} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /v2/orders/<id 6> · etag: "v1" · cache-control: no-store
{ id: '<id 6>', user_id: '<id 7>', status: 'pending', items: [ { product_id: '<id 5>', quantity: 2, unit_price: 12.5, line_total: 25 } ], currency: 'USD', total_amount: 25, status_history: [ { status: 'pending', at: '<time>', note: null } ], created_at: '<time>', updated_at: '<time>' }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: PUT /api/v1/orders/<id 9> {"status":"confirmed"} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: 'You may only cancel an order, while it is pending or confirmed: other changes are for editors, admins and trusted applications.' }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: PUT /orders/<id 8> {"status":"confirmed"} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'forbidden', message: 'You may only cancel an order, while it is pending or confirmed: other changes are for editors, admins and trusted applications.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > orders > user: PUT /v2/orders/<id 6> {"status":"confirmed"} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'forbidden', message: 'You may only cancel an order, while it is pending or confirmed: other changes are for editors, admins and trusted applications.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > POST > machine: POST /api/v1/products {"name":"Green tea","price":12.5,"currency":"USD","category":"Tea","stock":40,"sku":"TEA-1"} 1`] = `
405 · content-type: application/json; charset=utf-8 · cache-control: no-store · allow: GET, HEAD
{ error: 'This path takes GET, HEAD.' }
`

exports[`services/commerce/test/wire.test.ts > TAP > POST > machine: POST /products {"name":"Rice","price":900,"currency":"JPY","description":"Short."} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /products/<id 2> · etag: "v1" · cache-control: no-store
{ id: '<id 2>', name: 'Rice', price: 900, currency: 'JPY', description: 'Short.', category: null, stock: 0, sku: null, status: 'active', created_at: '<time>', updated_at: '<time>' }
`

exports[`services/commerce/test/wire.test.ts > TAP > POST > machine: POST /v2/products [] 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'The body must be a JSON object.', details: [ { field: 'The body', message: 'must be a JSON object' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > POST > machine: POST /v2/products {"name":"Dates","price":1.125,"currency":"KWD","status":"inactive"} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /v2/products/<id 3> · etag: "v1" · cache-control: no-store
{ id: '<id 3>', name: 'Dates', price: 1.125, currency: 'KWD', description: null, category: null, stock: 0, sku: null, status: 'inactive', created_at: '<time>', updated_at: '<time>' }
`

exports[`services/commerce/test/wire.test.ts > TAP > POST > machine: POST /v2/products {"name":"Green tea","price":1.005,"currency":"USD","category":"Tea","stock":40,"sku":"TEA-1"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'price must be a number of USD from 0, with at most 2 decimals.', details: [ { field: 'price', message: 'must be a number of USD from 0, with at most 2 decimals' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > POST > machine: POST /v2/products {"name":"Green tea","price":12.5,"currency":"USD","category":"Tea","stock":40,"sku":"TEA-1"} 1`] = `
201 · content-type: application/json; charset=utf-8 · location: /v2/products/<id 1> · etag: "v1" · cache-control: no-store
{ id: '<id 1>', name: 'Green tea', price: 12.5, currency: 'USD', description: null, category: 'Tea', stock: 40, sku: 'TEA-1', status: 'active', created_at: '<time>', updated_at: '<time>' }
`

exports[`services/commerce/test/wire.test.ts > TAP > POST > machine: POST /v2/products {"name":"Green tea","price":12.5,"currency":"USD","category":"Tea","stock":40,"sku":"TEA-1"} 2`] = `
409 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'conflict', message: 'This sku is taken.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > POST > machine: POST /v2/products {"name":"Green tea","price":12.5,"currency":"XXX","category":"Tea","stock":-1,"sku":"TEA-1"} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'stock must be at least 0.', details: [ { field: 'stock', message: 'must be at least 0' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > POST > machine: POST /v2/products {} 1`] = `
400 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'invalid_parameter', message: 'name is required; price is required; currency is required.', details: [ { field: 'name', message: 'is required' }, { field: 'price', message: 'is required' }, { field: 'currency', message: 'is required' } ] } }
`

exports[`services/commerce/test/wire.test.ts > TAP > POST > nobody: POST /v2/products {"name":"Green tea","price":12.5,"currency":"USD","category":"Tea","stock":40,"sku":"TEA-1"} 1`] = `
401 · content-type: application/json; charset=utf-8 · cache-control: no-store · www-authenticate: Bearer realm="gatehouse"
{ error: { code: 'unauthorized', message: 'This needs an access token or an API key in the Authorization header.' } }
`

exports[`services/commerce/test/wire.test.ts > TAP > POST > user: POST /v2/products {"name":"Green tea","price":12.5,"currency":"USD","category":"Tea","stock":40,"sku":"TEA-1"} 1`] = `
403 · content-type: application/json; charset=utf-8 · cache-control: no-store
{ error: { code: 'forbidden', message: 'You are not permitted to change products: that is for editors, admins and trusted applications.' } }
`

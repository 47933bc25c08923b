/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > DELETE /users/{id} 1`] = `
remove_users
scopes: write:users
path: id
header: If-Match?
204 (X-Request-Id, RateLimit?, RateLimit-Policy?)
400 ApiErrorV2_invalid, 401 ApiErrorV2_unauthenticated, 403 ApiErrorV2_forbidden_write_users, 404 ApiErrorV2_not_found, 408 ApiErrorV2_timeout, 409 ApiErrorV2_conflict, 412 ApiErrorV2_precondition_failed, 413 ApiErrorV2_too_large, 415 ApiErrorV2_unsupported_media_type, 429 ApiErrorV2_rate_limited, 500 ApiErrorV2_internal, 503 ApiErrorV2_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > DELETE /v1/users/{id} 1`] = `
remove_v1_users
scopes: write:users
path: id
header: If-Match?
204 (X-Request-Id, RateLimit?, RateLimit-Policy?)
400 ApiError_invalid, 401 ApiError_unauthenticated, 403 ApiError_forbidden_write_users, 404 ApiError_not_found, 408 ApiError_timeout, 409 ApiError_conflict, 412 ApiError_precondition_failed, 413 ApiError_too_large, 415 ApiError_unsupported_media_type, 429 ApiError_rate_limited, 500 ApiError_internal, 503 ApiError_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > DELETE /v2/users/{id} 1`] = `
remove_v2_users
scopes: write:users
path: id
header: If-Match?
204 (X-Request-Id, RateLimit?, RateLimit-Policy?)
400 ApiErrorV2_invalid, 401 ApiErrorV2_unauthenticated, 403 ApiErrorV2_forbidden_write_users, 404 ApiErrorV2_not_found, 408 ApiErrorV2_timeout, 409 ApiErrorV2_conflict, 412 ApiErrorV2_precondition_failed, 413 ApiErrorV2_too_large, 415 ApiErrorV2_unsupported_media_type, 429 ApiErrorV2_rate_limited, 500 ApiErrorV2_internal, 503 ApiErrorV2_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > GET /api/v1/users 1`] = `
list_api_v1_users
scopes: read:users read:all
query: limit?
query: offset?
query: cursor?
query: filter[id]?
query: id?
query: filter[username]?
query: username?
query: filter[email]?
query: email?
query: filter[created_at]?
query: filter[created_at][gt]?
query: filter[created_at][gte]?
query: filter[created_at][lt]?
query: filter[created_at][lte]?
query: created_at?
200 application/json UserCList | UserCCursorPage (X-Request-Id, Link?, Deprecation?, Sunset?, RateLimit?, RateLimit-Policy?)
400 ApiErrorText_invalid, 401 ApiErrorText_unauthenticated, 403 ApiErrorText_forbidden_read_users_read_all, 429 ApiErrorText_rate_limited, 500 ApiErrorText_internal, 503 ApiErrorText_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > GET /api/v1/users/{user_id} 1`] = `
read_api_v1_users
scopes: read:users read:all read:profile profile
path: user_id
header: If-None-Match?
200 application/json UserC (X-Request-Id, ETag, RateLimit?, RateLimit-Policy?)
304 (X-Request-Id, ETag, RateLimit?, RateLimit-Policy?)
401 ApiErrorText_unauthenticated, 403 ApiErrorText_forbidden_read_users_read_all_read_profile_profile, 404 ApiErrorText_not_found, 429 ApiErrorText_rate_limited, 500 ApiErrorText_internal, 503 ApiErrorText_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > GET /guides/filters 1`] = `
read_filter_guide
scopes: 
200 text/markdown (X-Request-Id)
500 ApiErrorV2_internal
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > GET /kb/api/v1/users 1`] = `
list_kb_api_v1_users
scopes: read:users read:all
query: limit?
query: offset?
query: cursor?
query: sortBy?
query: sortOrder?
query: filter[id]?
query: filter[username]?
query: filter[email]?
query: filter[role]?
query: filter[status]?
query: filter[q]?
query: q?
query: filter[createdAt]?
query: filter[createdAt][gt]?
query: filter[createdAt][gte]?
query: filter[createdAt][lt]?
query: filter[createdAt][lte]?
query: filter[updatedAt]?
query: filter[updatedAt][gt]?
query: filter[updatedAt][gte]?
query: filter[updatedAt][lt]?
query: filter[updatedAt][lte]?
200 application/json UserFList | UserFCursorPage (X-Request-Id, Link?, Incomplete-Results?, RateLimit?, RateLimit-Policy?)
400 ApiError_invalid, 401 ApiError_unauthenticated, 403 ApiError_forbidden_read_users_read_all, 429 ApiError_rate_limited, 500 ApiError_internal, 503 ApiError_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > GET /users 1`] = `
list_users
scopes: read:users read:all
query: limit?
query: offset?
query: cursor?
query: filter[id]?
200 application/json UserDList | UserDCursorPage (X-Request-Id, Link?, RateLimit?, RateLimit-Policy?)
400 ApiError_invalid, 401 ApiError_unauthenticated, 403 ApiError_forbidden_read_users_read_all, 429 ApiError_rate_limited, 500 ApiError_internal, 503 ApiError_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > GET /users/{id} 1`] = `
read_users
scopes: read:users read:all read:profile profile
path: id
header: If-None-Match?
200 application/json UserDetailD (X-Request-Id, ETag, RateLimit?, RateLimit-Policy?)
304 (X-Request-Id, ETag, RateLimit?, RateLimit-Policy?)
401 ApiError_unauthenticated, 403 ApiError_forbidden_read_users_read_all_read_profile_profile, 404 ApiError_not_found, 429 ApiError_rate_limited, 500 ApiError_internal, 503 ApiError_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > GET /v1/users 1`] = `
list_v1_users
scopes: read:users read:all
query: limit?
query: offset?
query: cursor?
query: filter[id]?
query: id?
query: filter[username]?
query: username?
query: filter[email]?
query: email?
query: filter[createdAt]?
query: filter[createdAt][gt]?
query: filter[createdAt][gte]?
query: filter[createdAt][lt]?
query: filter[createdAt][lte]?
query: createdAt?
query: filter[updatedAt]?
query: filter[updatedAt][gt]?
query: filter[updatedAt][gte]?
query: filter[updatedAt][lt]?
query: filter[updatedAt][lte]?
query: updatedAt?
query: page?
query: filter[created_at]?
query: filter[created_at][gt]?
query: filter[created_at][gte]?
query: filter[created_at][lt]?
query: filter[created_at][lte]?
query: created_at?
200 application/json UserAList | UserGList | UserACursorPage | UserGCursorPage (X-Request-Id, Link?, Deprecation?, Sunset?, RateLimit?, RateLimit-Policy?)
400 ApiError_invalid, 401 ApiError_unauthenticated, 403 ApiError_forbidden_read_users_read_all, 429 ApiError_rate_limited, 500 ApiError_internal, 503 ApiError_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > GET /v1/users/{id} 1`] = `
read_v1_users
scopes: read:users read:all read:profile profile
path: id
header: If-None-Match?
200 application/json UserA (X-Request-Id, ETag, RateLimit?, RateLimit-Policy?)
304 (X-Request-Id, ETag, RateLimit?, RateLimit-Policy?)
401 ApiError_unauthenticated, 403 ApiError_forbidden_read_users_read_all_read_profile_profile, 404 ApiError_not_found, 429 ApiError_rate_limited, 500 ApiError_internal, 503 ApiError_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > GET /v2/users 1`] = `
list_v2_users
scopes: read:users read:all
query: limit?
query: page?
query: cursor?
query: filter[id]?
query: filter[username]?
query: filter[email]?
query: filter[status]?
query: status?
query: filter[created_at]?
query: filter[created_at][gt]?
query: filter[created_at][gte]?
query: filter[created_at][lt]?
query: filter[created_at][lte]?
query: offset?
200 application/json UserB2List | UserB1List | UserB2CursorPage | UserB1CursorPage (X-Request-Id, Link?, RateLimit?, RateLimit-Policy?)
400 ApiErrorV2_invalid, 401 ApiErrorV2_unauthenticated, 403 ApiErrorV2_forbidden_read_users_read_all, 429 ApiErrorV2_rate_limited, 500 ApiErrorV2_internal, 503 ApiErrorV2_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > GET /v2/users/{id} 1`] = `
read_v2_users
scopes: read:users read:all read:profile profile
path: id
header: If-None-Match?
200 application/json UserB (X-Request-Id, ETag, RateLimit?, RateLimit-Policy?)
304 (X-Request-Id, ETag, RateLimit?, RateLimit-Policy?)
401 ApiErrorV2_unauthenticated, 403 ApiErrorV2_forbidden_read_users_read_all_read_profile_profile, 404 ApiErrorV2_not_found, 429 ApiErrorV2_rate_limited, 500 ApiErrorV2_internal, 503 ApiErrorV2_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > PATCH /v1/users/{id} 1`] = `
patch_v1_users
scopes: write:users
path: id
header: If-Match?
body: application/json UserChangesE
200 application/json ChangedUserE (X-Request-Id, ETag, RateLimit?, RateLimit-Policy?)
400 ApiError_invalid, 401 ApiError_unauthenticated, 403 ApiError_forbidden_write_users, 404 ApiError_not_found, 408 ApiError_timeout, 409 ApiError_conflict, 412 ApiError_precondition_failed, 413 ApiError_too_large, 415 ApiError_unsupported_media_type, 429 ApiError_rate_limited, 500 ApiError_internal, 503 ApiError_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > POST /api/v1/users 1`] = `
create_api_v1_users
scopes: write:users
header: Idempotency-Key?
body: application/json NewUserC
201 application/json UserCreatedC (X-Request-Id, Location, ETag, RateLimit?, RateLimit-Policy?, Idempotency-Replayed?)
400 ApiErrorText_invalid, 401 ApiErrorText_unauthenticated, 403 ApiErrorText_forbidden_write_users, 408 ApiErrorText_timeout, 409 ApiErrorText_conflict, 413 ApiErrorText_too_large, 415 ApiErrorText_unsupported_media_type, 422 ApiErrorText_idempotency_key_reused, 429 ApiErrorText_rate_limited, 500 ApiErrorText_internal, 503 ApiErrorText_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > POST /api/v1/users/{id}/revocations 1`] = `
revoke_access
scopes: write:users
path: id
body: application/json AccessRevocation
204 (X-Request-Id, RateLimit?, RateLimit-Policy?)
400 ApiErrorText_invalid, 401 ApiErrorText_unauthenticated, 403 ApiErrorText_forbidden_write_users, 404 ApiErrorText_not_found, 408 ApiErrorText_timeout, 413 ApiErrorText_too_large, 415 ApiErrorText_unsupported_media_type, 429 ApiErrorText_rate_limited, 500 ApiErrorText_internal, 503 ApiErrorText_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > POST /kb/api/v1/users 1`] = `
create_kb_api_v1_users
scopes: write:users
header: Idempotency-Key?
body: application/json NewUserF
201 application/json UserF (X-Request-Id, Location, ETag, RateLimit?, RateLimit-Policy?, Idempotency-Replayed?)
400 ApiError_invalid, 401 ApiError_unauthenticated, 403 ApiError_forbidden_write_users, 408 ApiError_timeout, 409 ApiError_conflict, 413 ApiError_too_large, 415 ApiError_unsupported_media_type, 422 ApiError_idempotency_key_reused, 429 ApiError_rate_limited, 500 ApiError_internal, 503 ApiError_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > POST /users 1`] = `
create_users
scopes: write:users
header: Idempotency-Key?
body: application/json NewUserD
201 application/json UserD (X-Request-Id, Location, ETag, RateLimit?, RateLimit-Policy?, Idempotency-Replayed?)
400 ApiError_invalid, 401 ApiError_unauthenticated, 403 ApiError_forbidden_write_users, 408 ApiError_timeout, 409 ApiError_conflict, 413 ApiError_too_large, 415 ApiError_unsupported_media_type, 422 ApiError_idempotency_key_reused, 429 ApiError_rate_limited, 500 ApiError_internal, 503 ApiError_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > POST /v1/users 1`] = `
create_v1_users
scopes: write:users
header: Idempotency-Key?
body: application/json NewUserA | NewUserE | NewUserG
201 application/json UserA | UserE | UserG (X-Request-Id, Location, ETag, RateLimit?, RateLimit-Policy?, Idempotency-Replayed?)
400 ApiError_invalid, 401 ApiError_unauthenticated, 403 ApiError_forbidden_write_users, 408 ApiError_timeout, 409 ApiError_conflict, 413 ApiError_too_large, 415 ApiError_unsupported_media_type, 422 ApiError_idempotency_key_reused, 429 ApiError_rate_limited, 500 ApiError_internal, 503 ApiError_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > POST /v2/users 1`] = `
create_v2_users
scopes: write:users
header: Idempotency-Key?
body: application/json NewUserB
201 application/json UserB (X-Request-Id, Location, ETag, RateLimit?, RateLimit-Policy?, Idempotency-Replayed?)
400 ApiErrorV2_invalid, 401 ApiErrorV2_unauthenticated, 403 ApiErrorV2_forbidden_write_users, 408 ApiErrorV2_timeout, 409 ApiErrorV2_conflict, 413 ApiErrorV2_too_large, 415 ApiErrorV2_unsupported_media_type, 422 ApiErrorV2_idempotency_key_reused, 429 ApiErrorV2_rate_limited, 500 ApiErrorV2_internal, 503 ApiErrorV2_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > PUT /users/{id} 1`] = `
update_users
scopes: write:users
path: id
header: If-Match?
body: application/json UserChangesB
200 application/json UserB (X-Request-Id, ETag, RateLimit?, RateLimit-Policy?)
400 ApiErrorV2_invalid, 401 ApiErrorV2_unauthenticated, 403 ApiErrorV2_forbidden_write_users, 404 ApiErrorV2_not_found, 408 ApiErrorV2_timeout, 409 ApiErrorV2_conflict, 412 ApiErrorV2_precondition_failed, 413 ApiErrorV2_too_large, 415 ApiErrorV2_unsupported_media_type, 429 ApiErrorV2_rate_limited, 500 ApiErrorV2_internal, 503 ApiErrorV2_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > PUT /users/{id}/password 1`] = `
set_password_users
scopes: write:users
path: id
header: If-Match?
body: application/json UserPassword
204 (X-Request-Id, RateLimit?, RateLimit-Policy?)
400 ApiErrorV2_invalid, 401 ApiErrorV2_unauthenticated, 403 ApiErrorV2_forbidden_write_users, 404 ApiErrorV2_not_found, 408 ApiErrorV2_timeout, 412 ApiErrorV2_precondition_failed, 413 ApiErrorV2_too_large, 415 ApiErrorV2_unsupported_media_type, 429 ApiErrorV2_rate_limited, 500 ApiErrorV2_internal, 503 ApiErrorV2_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > PUT /users/{id}/role 1`] = `
set_role_users
scopes: write:users
path: id
header: If-Match?
body: application/json UserRole
204 (X-Request-Id, RateLimit?, RateLimit-Policy?)
400 ApiErrorV2_invalid, 401 ApiErrorV2_unauthenticated, 403 ApiErrorV2_forbidden_write_users, 404 ApiErrorV2_not_found, 408 ApiErrorV2_timeout, 409 ApiErrorV2_conflict, 412 ApiErrorV2_precondition_failed, 413 ApiErrorV2_too_large, 415 ApiErrorV2_unsupported_media_type, 429 ApiErrorV2_rate_limited, 500 ApiErrorV2_internal, 503 ApiErrorV2_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > PUT /users/{id}/status 1`] = `
set_status_users
scopes: write:users
path: id
header: If-Match?
body: application/json UserStatus
204 (X-Request-Id, RateLimit?, RateLimit-Policy?)
400 ApiErrorV2_invalid, 401 ApiErrorV2_unauthenticated, 403 ApiErrorV2_forbidden_write_users, 404 ApiErrorV2_not_found, 408 ApiErrorV2_timeout, 409 ApiErrorV2_conflict, 412 ApiErrorV2_precondition_failed, 413 ApiErrorV2_too_large, 415 ApiErrorV2_unsupported_media_type, 429 ApiErrorV2_rate_limited, 500 ApiErrorV2_internal, 503 ApiErrorV2_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > PUT /v1/users/{id} 1`] = `
update_v1_users
scopes: write:users
path: id
header: If-Match?
body: application/json UserChangesA
200 application/json UserA (X-Request-Id, ETag, RateLimit?, RateLimit-Policy?)
400 ApiError_invalid, 401 ApiError_unauthenticated, 403 ApiError_forbidden_write_users, 404 ApiError_not_found, 408 ApiError_timeout, 409 ApiError_conflict, 412 ApiError_precondition_failed, 413 ApiError_too_large, 415 ApiError_unsupported_media_type, 429 ApiError_rate_limited, 500 ApiError_internal, 503 ApiError_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > PUT /v1/users/{id}/password 1`] = `
set_password_v1_users
scopes: write:users
path: id
header: If-Match?
body: application/json UserPassword
204 (X-Request-Id, RateLimit?, RateLimit-Policy?)
400 ApiError_invalid, 401 ApiError_unauthenticated, 403 ApiError_forbidden_write_users, 404 ApiError_not_found, 408 ApiError_timeout, 412 ApiError_precondition_failed, 413 ApiError_too_large, 415 ApiError_unsupported_media_type, 429 ApiError_rate_limited, 500 ApiError_internal, 503 ApiError_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > PUT /v1/users/{id}/role 1`] = `
set_role_v1_users
scopes: write:users
path: id
header: If-Match?
body: application/json UserRole
204 (X-Request-Id, RateLimit?, RateLimit-Policy?)
400 ApiError_invalid, 401 ApiError_unauthenticated, 403 ApiError_forbidden_write_users, 404 ApiError_not_found, 408 ApiError_timeout, 409 ApiError_conflict, 412 ApiError_precondition_failed, 413 ApiError_too_large, 415 ApiError_unsupported_media_type, 429 ApiError_rate_limited, 500 ApiError_internal, 503 ApiError_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > PUT /v1/users/{id}/status 1`] = `
set_status_v1_users
scopes: write:users
path: id
header: If-Match?
body: application/json UserStatus
204 (X-Request-Id, RateLimit?, RateLimit-Policy?)
400 ApiError_invalid, 401 ApiError_unauthenticated, 403 ApiError_forbidden_write_users, 404 ApiError_not_found, 408 ApiError_timeout, 409 ApiError_conflict, 412 ApiError_precondition_failed, 413 ApiError_too_large, 415 ApiError_unsupported_media_type, 429 ApiError_rate_limited, 500 ApiError_internal, 503 ApiError_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > PUT /v2/users/{id} 1`] = `
update_v2_users
scopes: write:users
path: id
header: If-Match?
body: application/json UserChangesB
200 application/json UserB (X-Request-Id, ETag, RateLimit?, RateLimit-Policy?)
400 ApiErrorV2_invalid, 401 ApiErrorV2_unauthenticated, 403 ApiErrorV2_forbidden_write_users, 404 ApiErrorV2_not_found, 408 ApiErrorV2_timeout, 409 ApiErrorV2_conflict, 412 ApiErrorV2_precondition_failed, 413 ApiErrorV2_too_large, 415 ApiErrorV2_unsupported_media_type, 429 ApiErrorV2_rate_limited, 500 ApiErrorV2_internal, 503 ApiErrorV2_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > PUT /v2/users/{id}/password 1`] = `
set_password_v2_users
scopes: write:users
path: id
header: If-Match?
body: application/json UserPassword
204 (X-Request-Id, RateLimit?, RateLimit-Policy?)
400 ApiErrorV2_invalid, 401 ApiErrorV2_unauthenticated, 403 ApiErrorV2_forbidden_write_users, 404 ApiErrorV2_not_found, 408 ApiErrorV2_timeout, 412 ApiErrorV2_precondition_failed, 413 ApiErrorV2_too_large, 415 ApiErrorV2_unsupported_media_type, 429 ApiErrorV2_rate_limited, 500 ApiErrorV2_internal, 503 ApiErrorV2_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > PUT /v2/users/{id}/role 1`] = `
set_role_v2_users
scopes: write:users
path: id
header: If-Match?
body: application/json UserRole
204 (X-Request-Id, RateLimit?, RateLimit-Policy?)
400 ApiErrorV2_invalid, 401 ApiErrorV2_unauthenticated, 403 ApiErrorV2_forbidden_write_users, 404 ApiErrorV2_not_found, 408 ApiErrorV2_timeout, 409 ApiErrorV2_conflict, 412 ApiErrorV2_precondition_failed, 413 ApiErrorV2_too_large, 415 ApiErrorV2_unsupported_media_type, 429 ApiErrorV2_rate_limited, 500 ApiErrorV2_internal, 503 ApiErrorV2_unavailable
`

exports[`services/users/test/profiles/openapi.test.ts > TAP > each operation > PUT /v2/users/{id}/status 1`] = `
set_status_v2_users
scopes: write:users
path: id
header: If-Match?
body: application/json UserStatus
204 (X-Request-Id, RateLimit?, RateLimit-Policy?)
400 ApiErrorV2_invalid, 401 ApiErrorV2_unauthenticated, 403 ApiErrorV2_forbidden_write_users, 404 ApiErrorV2_not_found, 408 ApiErrorV2_timeout, 409 ApiErrorV2_conflict, 412 ApiErrorV2_precondition_failed, 413 ApiErrorV2_too_large, 415 ApiErrorV2_unsupported_media_type, 429 ApiErrorV2_rate_limited, 500 ApiErrorV2_internal, 503 ApiErrorV2_unavailable
`

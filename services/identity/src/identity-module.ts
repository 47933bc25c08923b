import type { Part } from '@gatehouse/core/lifecycle';
import type { MetricFamily } from '@gatehouse/core/metrics-text';
import type Router from '@koa/router';
import type { Extensions } from './core/extensions.ts';
import type { Api } from './http/api.ts';
import type { Operations } from './openapi/operations.ts';

/** A feature of the service, which the rest does not know. */
export type IdentityModule = {
  /** Endpoints for programs, which are in the OpenAPI document. */
  apis?: readonly Api[];
  routers?: readonly Router[];
  /** The operations of its routers for the OpenAPI document, without pages and internal routes. */
  operations?: Operations;
  /** The prefixes of the paths of its pages: errors below them are pages, too. */
  pages?: readonly string[];
  /** The prefixes of the paths to which passwords are sent: the requests are limited most strictly. */
  passwordPaths?: readonly string[];
  /** The collections of which expired documents are removed. */
  collections?: readonly string[];
  /** The parts that have to be started or stopped. */
  parts?: readonly Part[];
  /** Its additions to the core and to other features. */
  extensions?: Partial<Extensions>;
  metrics?(): readonly MetricFamily[];
};

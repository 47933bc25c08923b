import { VERSION } from '@gatehouse/core/version';

/** The information that all documents have in common. `version` is that of the interface. */
export const INTERFACE = {
  version: '2.1.0',
  'x-gatehouse-version': VERSION,
  license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
} as const;

/** For the descriptions of documents. */
export const ABOUT_VERSION =
  'The version of this document is the version of the interface. `x-gatehouse-version` is the release of Gatehouse that serves it.';

/** The tag of the guides that the interface serves. They are no objects of it. */
export const GUIDES_TAG = 'guides';

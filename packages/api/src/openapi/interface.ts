/**
 * The information that all documents have in common. The version is that of the interface; releases of Gatehouse have
 * versions of their own, in package.json.
 */
export const INTERFACE = {
  version: '2.1.0',
  license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
} as const;

/** For the descriptions of documents. */
export const ABOUT_VERSION =
  'The version of this document is the version of the interface. Releases of Gatehouse have versions of their own.';

/** The tag of the guides that the interface serves. They are no objects of it. */
export const GUIDES_TAG = 'guides';

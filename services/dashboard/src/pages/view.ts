import type { Content } from '@gatehouse/web/html';

/** A page of the dashboard, without what surrounds it. */
export type View = {
  title: string;
  /** Which of several pages with this title it is, for the title of the document. */
  part?: string;
  /** The name of the entry of the navigation that it belongs to; none on pages outside of it. */
  section?: string;
  /** The pages above it, the topmost first. */
  trail?: readonly { href: string; title: string }[];
  /** The actions of this page, beside its heading. */
  actions?: Content;
  body: Content;
  /** 200 by default. */
  status?: number;
  /** Whether what was sent has to be corrected. */
  failed?: boolean;
  /** The message that a change was made. */
  notice?: string | undefined;
  charts?: boolean;
  /** The text in the search field, on the page with its results. */
  search?: string;
};

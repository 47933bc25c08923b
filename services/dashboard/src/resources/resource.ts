import type { Role } from '@gatehouse/tokens/scopes';
import type { Content, Html } from '@gatehouse/web/html';
import type { Names } from '../api/names.ts';
import type { ApiPage } from '../api/pages.ts';
import type { RefusedForm } from '../http/changes.ts';
import type { Fields } from '../http/forms.ts';
import type { DashboardRouter, Visit } from '../routes/dashboard-router.ts';
import type { Question, SentForm } from './confirmed.ts';
import type { FormRow, FormValues } from './resource-form.ts';
import type { ResourceList } from './resource-list.ts';

/** Something as the API returns it, and its entity tag. */
export type Versioned<T> = { value: T; etag: string | null };

/** The object that a page shows or acts on. */
export type Target<T> = Versioned<T> & {
  visit: Visit;
  /** The path of its page. */
  path: string;
  /** Its path in the API. */
  apiPath: string;
};

/** The form of an action that the API did not accept, for its page to be shown again. */
export type RefusedAction = RefusedForm & { action: string };

/** The data of a further page of one object. */
export type PartView<T> = Target<T> & { refused: RefusedAction | undefined };

/** The data of the page of one object. */
export type ResourceView<T> = PartView<T> & {
  /** The names of the people that it refers to. */
  people: Names;
  /** The form that changes it; missing where the reader may not. */
  form: Content;
  /** The way to its deletion; missing where the reader may not. */
  deletion: Content;
};

/** A further page of one thing, such as the credentials of an application. */
export type Part<T> = {
  title: string;
  /** Whether links lead to it; by default they do. */
  isShown?(row: T): boolean;
  charts?: boolean;
  /** The messages after a change, where the page words them differently. */
  notices?: Readonly<Record<string, string>>;
  view(page: PartView<T>): Content | Promise<Content>;
};

/** The action of a button or form. Returns the page to go on to, or the one to show in place of the page with the form. */
export type Act<T> = (target: Target<T>, fields: Fields) => Promise<string | Html>;

/** One of several kinds of a new thing, which is chosen before its form is shown. */
export type Kind = {
  name: string;
  title: string;
  text: string;
  hint?: string;
  formTitle: string;
  /** The text above its form. */
  about?: string;
  fields: readonly FormRow[];
};

/** The question before an act that cannot be undone; where the page stands among the others is known. */
export type ResourceQuestion = Omit<Question, 'section' | 'trail' | 'back'>;

/** The page to go on to, or the id of what was created, and which notice its page shows. */
export type Created = string | { id: string; done?: string };

/**
 * A kind of thing of the API, from which `resourcePages` makes pages: a list, whose first column leads to the page of what
 * is in the row, and what can be done with one.
 */
export type Resource<T extends { id: string }> = Omit<ResourceList<T>, 'title' | 'names' | 'create'> & {
  /** The prefix of its ids, where all have it. */
  idPrefix?: string;
  /** The prefix of the ids of new ones, where others have ids without it. */
  newIdPrefix?: string;
  /** Those with a name that matches the text in the search of the dashboard: the first ones. */
  search?(visit: Visit, text: string): Promise<ApiPage<T>>;
  /** The lowest role for which it is in the navigation. */
  role?: Role;
  /** The ids of the people that it refers to; editors see their names. */
  people?(row: T): readonly (string | null)[];
  /** Asks for one; by default by its id. */
  read?(visit: Visit, apiPath: string): Promise<Versioned<T>>;
  /** The name of one object, which distinguishes it from others. */
  title(row: T): string;
  view(page: ResourceView<T>): Content | Promise<Content>;
  /** The title of its page among its further pages, which are named by the last parts of their paths. */
  partTitle?: string;
  parts?: Readonly<Record<string, Part<T>>>;
  /** The form of a new one, and of one that is changed. */
  fields?: readonly FormRow[] | ((row: T) => readonly FormRow[]);
  create?: ResourceList<T>['create'] & {
    submit?: string;
    /** The form of a new one, where it has other fields than that of one that is changed. */
    fields?: readonly FormRow[];
    /** The introduction to the choice of a kind, and the kinds, each of which has a form of its own. */
    choice?: { about: string; kinds(visit: Visit): Promise<readonly Kind[]> };
    /** Whether the API would create another one for a form that is sent twice. */
    once?: boolean;
    /** By default the fields are posted to the list. */
    send?(visit: Visit, values: FormValues, kind: Pick<Kind, 'name' | 'fields'>): Promise<Created>;
  };
  update?: {
    role?: Role;
    /** By default what has changed is put. */
    send?(target: Target<T>, changed: Readonly<Record<string, unknown>>): Promise<unknown>;
  };
  remove?: {
    role?: Role;
    /** The name of the deleted object, where it is not the noun. */
    noun?: string;
    /** The data that is lost with it. */
    lost: string;
    /** A further warning before the deletion. */
    warning?(target: Target<T>): Content | Promise<Content>;
  };
  /**
   * The actions of the buttons and forms of its pages, by the last part of the path; of a further page, after its name.
   * `once` are those that the API would do again for a form that is sent twice.
   */
  actions?: Readonly<Record<string, Act<T> | { once: Act<T> }>>;
  /** The same for what cannot be undone and is asked before. */
  confirmed?: Readonly<
    Record<string, (target: Target<T>, sent?: SentForm) => ResourceQuestion | Promise<ResourceQuestion>>
  >;
  /** Pages and forms of its own. */
  routes?(router: DashboardRouter): void;
};

import type { Role } from '@gatehouse/tokens/scopes';
import type { Content, Html } from '@gatehouse/web/html';
import type { Names } from '../api/names.ts';
import type { RefusedForm } from '../http/changes.ts';
import type { Fields } from '../http/forms.ts';
import type { DashboardRouter, Visit } from '../routes/dashboard-router.ts';
import type { Question, SentForm } from './confirmed.ts';
import type { FormRow, FormValues } from './resource-form.ts';
import type { ResourceList } from './resource-list.ts';

/** Something as the API returns it, and its entity tag. */
export type Versioned<T> = { value: T; etag: string | null };

/** What a page shows or acts on. */
export type Target<T> = Versioned<T> & {
  visit: Visit;
  /** The path of its page. */
  path: string;
  /** Its path in the API. */
  apiPath: string;
};

/** The form of an action that the API did not accept, for its page to be shown again. */
export type RefusedAction = RefusedForm & { action: string };

/** What a further page of one thing is made of. */
export type PartView<T> = Target<T> & { refused: RefusedAction | undefined };

/** What the page of one thing is made of. */
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
  /** What has been done, where the page says it in other words. */
  notices?: Readonly<Record<string, string>>;
  view(page: PartView<T>): Content | Promise<Content>;
};

/** What a button or form does. Returns the page to go on to, or what to show in the place of the page with the form. */
export type Act<T> = (target: Target<T>, fields: Fields) => Promise<string | Html>;

/** One of several kinds of a new thing, which is chosen before its form is shown. */
export type Kind = {
  name: string;
  title: string;
  text: string;
  hint?: string;
  formTitle: string;
  /** What is said above its form. */
  about?: string;
  fields: readonly FormRow[];
};

/** What is asked before an act that cannot be undone; where the page stands among the others is known. */
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
  /** The lowest role for which it is in the navigation. */
  role?: Role;
  /** The ids of the people that it refers to; editors see their names. */
  people?(row: T): readonly (string | null)[];
  /** Asks for one; by default by its id. */
  read?(visit: Visit, apiPath: string): Promise<Versioned<T>>;
  /** By what one is told from others. */
  title(row: T): string;
  view(page: ResourceView<T>): Content | Promise<Content>;
  /** What its page is called among its further pages, which are named by the last parts of their paths. */
  partTitle?: string;
  parts?: Readonly<Record<string, Part<T>>>;
  /** The form of a new one, and of one that is changed. */
  fields?: readonly FormRow[] | ((row: T) => readonly FormRow[]);
  create?: ResourceList<T>['create'] & {
    submit?: string;
    /** What is to be known before one of several kinds is chosen, and the kinds, each of which has a form of its own. */
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
    /** What is deleted, where it is not the noun. */
    noun?: string;
    /** What is lost with it. */
    lost: string;
    /** What else there is to say before. */
    warning?(target: Target<T>): Content | Promise<Content>;
  };
  /**
   * What the buttons and forms of its pages do, by the last part of the path; of a further page, after its name. `once` are those
   * that the API would do again for a form that is sent twice.
   */
  actions?: Readonly<Record<string, Act<T> | { once: Act<T> }>>;
  /** The same for what cannot be undone and is asked before. */
  confirmed?: Readonly<
    Record<string, (target: Target<T>, sent?: SentForm) => ResourceQuestion | Promise<ResourceQuestion>>
  >;
  /** Pages and forms of its own. */
  routes?(router: DashboardRouter): void;
};

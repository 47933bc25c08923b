import type { FieldProblem } from '@gatehouse/core/errors';
import type { Role } from '@gatehouse/tokens/scopes';
import type { Content, Html } from '@gatehouse/web/html';
import type { Api } from '../api/api.ts';
import type { Names } from '../api/names.ts';
import type { ApiPage } from '../api/pages.ts';
import type { RefusedForm } from '../http/changes.ts';
import type { Fields, FormOptions } from '../http/forms.ts';
import type { View } from '../pages/view.ts';
import type { DashboardRouter } from '../routes/dashboard-router.ts';
import type { Visit } from '../routes/visit.ts';
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

/** The action of a button or form. Returns the page to go on to, the content to show in place of that of the form, or a page that asks. */
export type Act<T> = (target: Target<T>, fields: Fields) => Promise<string | Html | View>;

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

/** How the rows of a CSV file create objects, and change those whose ids they have. */
export type Imported<T> = {
  /** The lowest role that may import. */
  role: Role;
  /** Its columns are the names of these. */
  fields: readonly FormRow[];
  /** Whether rows with an id change that object. */
  changes?: boolean;
  /** The columns of an export that cannot be changed, and are passed over. */
  readOnly?: readonly string[];
  /** The fields of a new object; the first one is its name. */
  required: readonly string[];
  /** The fields that no two objects share. */
  unique: readonly string[];
  /** Fields that are sent together when one of them differs. */
  together?: readonly string[];
  /** The path in the API of the list with all of these fields. */
  list: string;
  /** The notes for the person before an import, and after it. */
  about?: Content;
  /** The problems of the fields of a new object, or of the fields that differ from the current one. */
  problems(body: Readonly<Record<string, unknown>>, current: T | undefined): readonly FieldProblem[];
  /** Creates an object; by default its fields are posted to the list. `secret` is the same each time the row is sent. */
  create?(api: Api, body: object, secret: string): Promise<unknown>;
};

/**
 * A kind of thing of the API, from which `resourcePages` makes pages: a list, whose first column leads to the page of what
 * is in the row, and what can be done with one.
 */
export type Resource<T extends { id: string }> = Omit<
  ResourceList<T>,
  'title' | 'names' | 'create' | 'imported'
> & {
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
  /** The heading of its page, where that is another name. */
  heading?(row: T): string;
  /** The actions beside the heading. */
  pageActions?(target: Target<T>): Content;
  view(page: ResourceView<T>): Content | Promise<Content>;
  /** The title of its page among its further pages, which are named by the last parts of their paths. */
  partTitle?: string;
  parts?: Readonly<Record<string, Part<T>>>;
  /** The form of a new one, and of one that is changed. */
  fields?: readonly FormRow[] | ((row: T, visit: Visit) => readonly FormRow[] | Promise<readonly FormRow[]>);
  create?: ResourceList<T>['create'] & {
    submit?: string;
    /** The form of a new one, where it has other fields than that of one that is changed. */
    fields?: readonly FormRow[] | ((visit: Visit) => Promise<readonly FormRow[]>);
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
  imported?: Imported<T>;
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
   * An action that is not idempotent is given as `once`: a form that is sent twice runs it once. `form` has the limits of a large form.
   */
  actions?: Readonly<Record<string, Act<T> | { once: Act<T> } | { act: Act<T>; form: FormOptions }>>;
  /** The same for what cannot be undone and is asked before. */
  confirmed?: Readonly<
    Record<string, (target: Target<T>, sent?: SentForm) => ResourceQuestion | Promise<ResourceQuestion>>
  >;
  /** Pages and forms of its own. */
  routes?(router: DashboardRouter): void;
};

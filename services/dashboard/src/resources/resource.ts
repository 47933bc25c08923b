import type { Role } from '@gatehouse/tokens/scopes';
import type { Content } from '@gatehouse/web/html';
import type { Names } from '../api/names.ts';
import type { RefusedForm } from '../http/changes.ts';
import type { Fields } from '../http/forms.ts';
import type { Column } from '../pages/list.ts';
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

/** What the page of one thing is made of. */
export type ResourceView<T> = Target<T> & {
  /** The names of the people that it refers to. */
  people: Names;
  /** The form of one of the actions that the API did not accept. */
  refused: RefusedForm | undefined;
  /** The form that changes it; missing where the reader may not. */
  form: Content;
  /** The way to its deletion; missing where the reader may not. */
  deletion: Content;
};

/** What is asked before an act that cannot be undone; where the page stands among the others is known. */
export type ResourceQuestion = Omit<Question, 'section' | 'trail' | 'back'>;

/**
 * A kind of thing of the API, from which `resourcePages` makes pages: a list, whose first column leads to the page of what
 * is in the row, and what can be done with one.
 */
export type Resource<T extends { id: string }> = Omit<
  ResourceList<T>,
  'title' | 'columns' | 'names' | 'create'
> & {
  columns: readonly Column<T>[];
  /** The prefix of its ids. */
  idPrefix: string;
  /** The lowest role for which it is in the navigation. */
  role?: Role;
  /** The ids of the people that it refers to; editors see their names. */
  people?(row: T): readonly string[];
  /** Asks for one; by default by its id. */
  read?(visit: Visit, apiPath: string): Promise<Versioned<T>>;
  /** By what one is told from others. */
  title(row: T): string;
  view(page: ResourceView<T>): Content | Promise<Content>;
  /** The form of a new one, and of one that is changed. */
  fields?: readonly FormRow[];
  create?: ResourceList<T>['create'] & {
    submit?: string;
    /** By default the fields are posted to the list. Returns the id, and which notice to show. */
    send?(visit: Visit, values: FormValues): Promise<{ id: string; done?: string }>;
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
  /** What the buttons of its page do, by the last part of the path. Each returns the page to go on to. */
  actions?: Readonly<Record<string, (target: Target<T>, fields: Fields) => Promise<string>>>;
  /** The same for what cannot be undone and is asked before. */
  confirmed?: Readonly<
    Record<string, (target: Target<T>, sent?: SentForm) => ResourceQuestion | Promise<ResourceQuestion>>
  >;
  /** Pages and forms of its own. */
  routes?(router: DashboardRouter): void;
};

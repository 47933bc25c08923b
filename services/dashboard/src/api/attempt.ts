import { ApiError } from './api-error.ts';

/** The outcome of a request without whose response a page can still be shown. */
export type Outcome<T> = { value: T; error?: undefined } | { value?: undefined; error: ApiError };

/** Waits for a request; passes on that the person may not see it, and what is a fault of ours. */
export async function attempt<T>(request: Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await request };
  } catch (error) {
    if (error instanceof ApiError && error.status !== 401 && error.status !== 403) return { error };
    throw error;
  }
}

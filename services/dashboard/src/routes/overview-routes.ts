import { html } from '@gatehouse/ui/html';
import type { DashboardRouter } from './dashboard-router.ts';

/** The first page: how the deployment is doing. */
export function addOverviewRoutes({ get }: DashboardRouter): void {
  get('/', ({ person }) => ({
    title: 'Overview',
    section: 'overview',
    body: html`<p>Welcome, ${person.name}.</p>`,
  }));
}

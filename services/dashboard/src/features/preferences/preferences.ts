import { appearance, appearanceCookies, THEMES, TIME_ZONES } from '@gatehouse/web/appearance';
import { html } from '@gatehouse/web/html';
import type { View } from '../../pages/view.ts';
import { type FormRow, resourceForm } from '../../resources/resource-form.ts';
import type { UnlistedPages } from '../../routes/dashboard-router.ts';

const PATH = '/dashboard/preferences';
const ROWS: readonly FormRow[] = [
  {
    name: 'theme',
    label: 'Theme',
    required: true,
    options: [
      ['system', 'Same as your system'],
      ['light', 'Light'],
      ['dark', 'Dark'],
    ],
  },
  {
    name: 'time_zone',
    label: 'Time zone',
    required: true,
    options: [['browser', 'Same as your browser'], ...TIME_ZONES],
  },
];

/** How the pages look to somebody, in one browser. */
export function preferences({ publicUrl }: { publicUrl: string }): UnlistedPages {
  const isSecure = publicUrl.startsWith('https:');
  return {
    addRoutes({ get, post }) {
      get('/preferences', (visit): View => {
        const { theme = 'system', timeZone = 'browser' } = appearance();
        return {
          title: 'Preferences',
          notice: visit.query('done') === 'saved' ? 'Your preferences are saved.' : undefined,
          body: html`<p>Your preferences apply to this browser. The theme also applies to the sign-in pages, your account and the documentation.</p>
${resourceForm({
  target: { action: PATH, csrf: visit.csrf },
  rows: ROWS,
  values: { theme, time_zone: timeZone },
  submit: 'Save preferences',
  error: undefined,
})}`,
        };
      });

      post('/preferences', async ({ ctx }, fields) => {
        const theme = THEMES.find((it) => it === fields.text('theme'));
        const timeZone = TIME_ZONES.find((it) => it === fields.text('time_zone'));
        const chosen = { ...(theme && { theme }), ...(timeZone && { timeZone }) };
        ctx.append('set-cookie', appearanceCookies(chosen, isSecure));
        return `${PATH}?done=saved`;
      });
    },
  };
}

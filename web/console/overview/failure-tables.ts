import { CopyButton } from '../../shared/copy-button.ts';
import { el, h } from '../../shared/dom.ts';
import { By } from '../activity/activity.ts';
import { whole } from '../components/format-number.ts';
import { DataTable } from '../components/table.ts';
import { Time } from '../components/ui.ts';
import type { Failure, KeyErrors } from '../state/types.ts';

/** Requests that failed in a day, with the key that should be looked at first. */
export const KeyErrorTable = ({ rows }: { rows: readonly KeyErrors[] }) =>
  el(
    'div.card.stack',
    el('h3', 'Failed requests by key'),
    el('p.soft', 'The last 24 hours, all instances, most errors first.'),
    h(DataTable<KeyErrors>, {
      label: 'Failed requests by key',
      rows,
      rowKey: ({ key_id }) => key_id,
      columns: [
        { title: 'Key', cell: (entry) => h(By, { entry }) },
        { title: 'Rejected (4xx)', isNumber: true, cell: ({ client_errors }) => whole(client_errors) },
        { title: 'Failed (5xx)', isNumber: true, cell: ({ server_errors }) => whole(server_errors) },
      ],
    }),
  );

export const FailureTable = ({ failures }: { failures: readonly Failure[] }) =>
  el(
    'div.card.stack',
    el('h3', 'Rejected and failed requests'),
    failures.length === 0
      ? el('p.soft', 'None in the last hour.')
      : h(DataTable<Failure>, {
          label: 'Rejected and failed requests',
          rows: failures,
          rowKey: ({ status, method, route, key_id }) => `${status} ${method} ${route} ${key_id}`,
          columns: [
            {
              title: 'Status',
              cell: ({ status }) => h('span', { class: status >= 500 ? 'badge bad' : 'badge warn' }, status),
            },
            {
              title: 'Request and last error',
              cell: ({ method, route, code, message }) =>
                el('div', el('code', `${method} ${route}`), el('p.soft', code, ': ', message)),
            },
            { title: 'Key', cell: (entry) => h(By, { entry, none: 'no valid key' }) },
            { title: 'Count', cell: ({ count }) => whole(count), isNumber: true },
            { title: 'Last', cell: ({ last_at }) => h(Time, { at: last_at, form: 'brief' }) },
            {
              title: 'Request id',
              cell: ({ request_id: id }) =>
                el(
                  'span.row',
                  el('code', id.slice(0, 8)),
                  h(CopyButton, { text: id, label: `Copy ${id.slice(0, 8)}`, icon: 'copy' }),
                ),
            },
          ],
        }),
  );

import { h, useState } from '../../shared/dom.ts';
import { type Series, textAt } from './series.ts';

type Props = {
  title: string;
  series: readonly Series[];
  points: readonly string[];
  format: (value: number) => string;
  hrefAt: ((point: number) => string) | undefined;
};

/** The values of a plot as a table, newest first. It is created when the user opens it. */
export function PlotTable({ title, series, points, format, hrefAt }: Props) {
  const [isOpen, setOpen] = useState(false);
  return h(
    'details',
    { onToggle: (event: Event) => setOpen((event.target as HTMLDetailsElement).open) },
    h('summary', null, 'As a table', h('span', { class: 'hidden-label' }, `: ${title}`)),
    isOpen &&
      h(
        'div',
        // Focusable, so that it can be scrolled by keyboard.
        { class: 'plot-table', tabIndex: 0, role: 'region', 'aria-label': `${title}, table` },
        h(
          'table',
          null,
          h(
            'thead',
            null,
            h(
              'tr',
              null,
              h('th', { scope: 'col' }, 'When'),
              series.map(({ name }) => h('th', { scope: 'col', class: 'number' }, name)),
            ),
          ),
          h(
            'tbody',
            null,
            points
              .map((point, n) =>
                h(
                  'tr',
                  { key: point },
                  h('th', { scope: 'row' }, hrefAt === undefined ? point : h('a', { href: hrefAt(n) }, point)),
                  series.map((one) => h('td', { class: 'number' }, textAt(one, n, format))),
                ),
              )
              .toReversed(),
          ),
        ),
      ),
  );
}

import { el, h } from '../../shared/dom.ts';
import { type Column, DataTable } from '../components/table.ts';
import { Fold } from '../components/ui.ts';
import { type PlotProps, textAt } from './series.ts';

/** The values of a plot as a table, newest first. It is created when the user opens it. */
export function PlotTable({ title, series, points, format, hrefAt }: PlotProps) {
  const label = `${title}, table`;
  const columns: Column<number>[] = [
    { title: 'When', cell: (point) => (hrefAt ? h('a', { href: hrefAt(point) }, points[point]) : points[point]) },
    ...series.map((one) => ({ title: one.name, cell: (point: number) => textAt(one, point, format), isNumber: true })),
  ];
  const rows = [...points.keys()].toReversed();
  return h(Fold, {
    title: ['As a table', el('span.hidden-label', `: ${title}`)],
    content: () =>
      h(
        'div',
        // Focusable, so that it can be scrolled by keyboard.
        { class: 'plot-table', tabIndex: 0, role: 'region', 'aria-label': label },
        h(DataTable<number>, { label, columns, rows, rowKey: String }),
      ),
  });
}

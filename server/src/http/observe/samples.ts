import { bounds, type Series } from './series-table.ts';

export type Labels = Record<string, string | number>;
/** A line of the metrics. */
export type Sample = { labels: Labels; value: number; metricName?: string };

export function histogram(name: string, labels: Labels, { sum, count, buckets }: Series): Sample[] {
  let below = 0;
  return [
    ...bounds.map((le, index) => ({
      metricName: `${name}_bucket`,
      labels: { le, ...labels },
      value: (below += buckets[index] ?? 0),
    })),
    { metricName: `${name}_bucket`, labels: { le: '+Inf', ...labels }, value: count },
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}

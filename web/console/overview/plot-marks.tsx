import type { ComponentChildren } from 'preact';
import type { Scale } from './scale.ts';
import { type Series, stack } from './series.ts';

/** The area of the bars and lines, in pixels. */
export type Room = { left: number; top: number; width: number; height: number };

/** The colours of the looks. They differ in lightness too, with contrast to the card in both themes. */
const colours = [
  'light-dark(#3f6fd8, #7fa6f5)',
  'light-dark(#c25a00, #f4a661)',
  'light-dark(#00785a, #57d1a9)',
  'light-dark(#a3262a, #f28b82)',
  // Parts of a stack: neighbours differ in lightness, for readers who cannot distinguish the hues. The last one is all others.
  'light-dark(#2c5cc5, #6f9bf5)',
  'light-dark(#57b9ab, #2f8f83)',
  'light-dark(#6a3aa8, #b897f0)',
  'light-dark(#b9a13a, #8f7a1f)',
  'light-dark(#a03f74, #ee9cc4)',
  'light-dark(#a9b0ba, #6b7380)',
  // The period before.
  'var(--soft)',
  'light-dark(#a9b0ba, #6b7380)',
];
const inColour = (look: number) => ({ color: colours[look] });

/** Lines drawn over a colour, so that series differ also for readers who cannot distinguish the colours. */
const hatches: Readonly<Record<number, string>> = { 1: 'M0 6L6 0', 2: 'M3 3h.01', 3: 'M3 0v6', 11: 'M3 0v6' };
const narrowPixels = 6;
/** Few values among many points stay visible. */
const leastPixels = 3;
const dashes = ['', '7 4', '2 4', ''];

/** The patterns of the looks in use, for `fill: url(#…)`, and the one over a point that has not ended. */
export const Patterns = ({ id, looks }: { id: string; looks: readonly number[] }) => (
  <defs>
    {looks.map((look) => (
      <pattern id={`${id}-${look}`} {...inColour(look)} width={6} height={6} patternUnits="userSpaceOnUse">
        <rect width={6} height={6} fill="currentColor" />
        {hatches[look] && <path d={hatches[look]} class="hatch" />}
      </pattern>
    ))}
    <pattern id={`${id}-running`} width={6} height={6} patternUnits="userSpaceOnUse">
      <path d="M-1 1L1 -1M0 6L6 0M5 7L7 5" class="hatch" />
    </pattern>
  </defs>
);

/** Where the bar of a point is. */
function barAt(points: number, room: Room) {
  const step = room.width / points;
  const width = Math.max(leastPixels, Math.min(48, step - (step > 4 ? Math.min(4, step / 5) : 0)));
  const end = room.left + room.width - width;
  const x = (point: number) => Math.min(end, Math.max(room.left, room.left + point * step + (step - width) / 2));
  return { step, width, x };
}

const yOf = (value: number, scale: Scale, room: Room): number => room.top + room.height * (1 - scale.place(value));

/** The series whose part of a bar is at a height in pixels. */
export function seriesAt(series: readonly Series[], point: number, y: number, scale: Scale, room: Room): number {
  return stack(series).findIndex(({ spans }) => {
    const [foot, top] = spans[point] ?? [0, 0];
    return top > foot && y <= yOf(foot, scale, room) && y >= yOf(top, scale, room);
  });
}

/** Stacked bars, one path per series: a plot may have hundreds of bars. */
export function bars(id: string, series: readonly Series[], scale: Scale, room: Room): ComponentChildren {
  const { step, width, x } = barAt(series[0]?.values.length ?? 0, room);
  const y = (value: number) => yOf(value, scale, room);
  return stack(series).map(({ look, spans }) => {
    const boxes = spans.map(([foot, top], point) => {
      if (top === foot) return '';
      const gap = foot > 0 ? 1 : 0;
      // A small value is never invisible.
      const height = Math.max(2, y(foot) - y(top) - gap);
      return `M${round(x(point))} ${round(y(foot) - gap)}v${-round(height)}h${round(width)}v${round(height)}z`;
    });
    // A pattern distinguishes series; on narrow bars it looks ragged.
    const fill = series.length === 1 || step < narrowPixels ? 'currentColor' : `url(#${id}-${look})`;
    return <path d={boxes.join('')} {...inColour(look)} fill={fill} />;
  });
}

/** Hatches the bar of a point that has not ended. */
export function runningBar(id: string, point: number, points: number, room: Room): ComponentChildren {
  const { width, x } = barAt(points, room);
  return <rect x={x(point)} y={room.top} width={width} height={room.height} fill={`url(#${id}-running)`} />;
}

/** Lines with a gap where there is no value, and a dot for a value without neighbours. */
export function lines(series: readonly Series[], scale: Scale, room: Room): ComponentChildren {
  return series.map(({ look, values }) => {
    const step = room.width / values.length;
    let d = '';
    let dots = '';
    values.forEach((value, point) => {
      if (value === null) return;
      const [isFirst, isLast] = [-1, 1].map((away) => (values[point + away] ?? null) === null);
      const x = round(room.left + (point + 0.5) * step);
      const y = round(room.top + room.height * (1 - scale.place(value)));
      d += isFirst ? `M${x} ${y}` : `L${x} ${y}`;
      if (isFirst && isLast) dots += `M${x} ${y}h.01`;
    });
    return [
      <path d={d} class="line" {...inColour(look)} stroke-dasharray={dashes[look]} />,
      <path d={dots} class="line dot" {...inColour(look)} />,
    ];
  });
}

/** The look of a series, beside its name. */
export const Swatch = ({ id, look, isLine }: { id: string; look: number; isLine: boolean }) => (
  <svg {...inColour(look)} width={22} height={12} aria-hidden="true">
    {isLine ? (
      <path d="M1 6h20" class="line" stroke-dasharray={dashes[look]} />
    ) : (
      <rect width={22} height={12} rx={2} fill={`url(#${id}-${look})`} />
    )}
  </svg>
);

const round = (value: number): number => Math.round(value * 10) / 10;

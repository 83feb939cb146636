import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Fold } from '../../shared/controls.tsx';
import { whole } from '../components/format-number.ts';
import { type Column, DataTable } from '../components/table.tsx';
import { bars, lines, Patterns, type Room, runningBar, Swatch, seriesAt } from './plot-marks.tsx';
import { labelledPoints, linearScale, pointAt, type Scale, spreadScale } from './scale.ts';
import { type PlotProps, type Series, textAt, totals } from './series.ts';

const height = 184;
const beforeLook = 10;

/**
 * A plot that can be viewed, pointed at, stepped through by keyboard, or read as a table. The keyboard reaches a point
 * through the slider, which is visible when it has the focus.
 */
export function Plot(props: PlotProps) {
  const { title, figure, summary, hidesSummary, note, kind, series, points, before, running, hrefAt } = props;
  const words = figure === undefined ? summary : `${figure} ${summary}`;
  const hasLegend = series.length > 1 || before !== undefined || figure !== undefined;
  const id = useId();
  const [box, width] = useWidth();
  const [chosen, choose] = useState<number>();
  const point = chosen === undefined ? undefined : Math.min(chosen, points.length - 1);
  const scale =
    kind === 'lines'
      ? spreadScale(series.flatMap(({ values }) => values.filter((value) => value !== null)))
      : linearScale(Math.max(0, ...totals(series), ...(before ?? [])), props.format === whole);
  const room: Room = { left: 52, top: 8, width: Math.max(60, width - 60), height: height - 28 };
  const follow = (event: PointerEvent) => {
    const { left } = (event.currentTarget as Element).getBoundingClientRect();
    choose(pointAt((event.clientX - left - room.left) / room.width, points.length));
  };
  const open = (part?: number) => {
    if (point !== undefined && hrefAt !== undefined) location.hash = hrefAt(point, part);
  };
  const openAt = ({ offsetY }: MouseEvent) => {
    const part = point === undefined ? -1 : seriesAt(series, point, offsetY, scale, room);
    open(part < 0 ? undefined : part);
  };
  const reading = point === undefined ? undefined : readingOf(props, point);
  return (
    <figure class="plot card stack">
      <figcaption class="row">
        <h3>{title}</h3>
        {!hasLegend && <span class="at-end soft">{reading}</span>}
        <p class={hidesSummary ? 'hidden-label' : 'soft small whole-row'}>
          {figure && [<b class="figure">{figure}</b>, ' ']}
          {summary}
        </p>
        {note && <p class="soft small whole-row">{note}</p>}
      </figcaption>
      {hasLegend && <Legend {...props} id={id} point={point} />}
      <div ref={box} class="plot-box">
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: the slider is for the keyboard */}
        <svg
          role="img"
          class={hrefAt && 'linked'}
          aria-label={`${title}: ${words}`}
          width={width}
          height={height}
          onPointerMove={follow}
          onPointerDown={follow}
          onPointerLeave={() => choose(undefined)}
          onClick={openAt}
        >
          <Patterns id={id} looks={series.map(({ look }) => look)} />
          <Axes {...props} scale={scale} room={room} />
          {kind === 'bars' ? bars(id, series, scale, room) : lines(series, scale, room)}
          {running !== undefined && runningBar(id, running, points.length, room)}
          {before && lines([{ name: '', look: beforeLook, values: before }], scale, room)}
          {point !== undefined && <path class="cross" d={crossAt((point + 0.5) / points.length, room)} />}
        </svg>
        <input
          type="range"
          class="plot-slider"
          aria-label={`${title}: value at a point`}
          aria-valuetext={reading ?? words}
          min={0}
          max={points.length - 1}
          value={point ?? points.length - 1}
          onFocus={() => choose(points.length - 1)}
          onBlur={() => choose(undefined)}
          onInput={({ currentTarget }) => choose(Number(currentTarget.value))}
          onKeyDown={({ key }) => key === 'Enter' && open()}
        />
      </div>
      <PlotTable {...props} />
    </figure>
  );
}

function readingOf({ points, series, format, before }: PlotProps, point: number): string {
  const values = series.map((one) => `${one.name} ${textAt(one, point, format)}`);
  const earlier = before === undefined ? [] : [`${beforeName} ${format(before[point] ?? 0)}`];
  return `${points[point]}: ${[...values, ...earlier].join(', ')}`;
}

const beforeName = 'period before';

type LegendProps = PlotProps & { id: string; point: number | undefined };

/** The names of the series, from the top of the stack down, with their values at the chosen point. */
function Legend({ id, kind, series, points, format, point, before }: LegendProps): ComponentChildren {
  const earlier = before && { name: beforeName, look: beforeLook, values: before };
  const entry = (one: Series) => (
    <li class="row tight">
      <Swatch id={id} look={one.look} isLine={kind === 'lines' || one === earlier} />
      <span class="name one-line">{one.name}</span>
      {point !== undefined && <b>{textAt(one, point, format)}</b>}
    </li>
  );
  return (
    <div class="legend row small">
      <ul class="plain row">
        {series.toReversed().map(entry)}
        {earlier && entry(earlier)}
      </ul>
      <span class="at-end soft">{point !== undefined && points[point]}</span>
    </div>
  );
}

type AxesProps = PlotProps & { scale: Scale; room: Room };

function Axes({ scale, room, times, labels, tick: textOf }: AxesProps) {
  const foot = room.top + room.height;
  const across = scale.ticks.map((tick) => {
    const y = Math.round(foot - room.height * scale.place(tick)) + 0.5;
    return (
      <>
        <path class="grid" d={`M${room.left} ${y}h${room.width}`} />
        <text x={room.left - 6} y={y + 4} text-anchor="end">
          {textOf(tick)}
        </text>
      </>
    );
  });
  const below = labelledPoints(times, room.width / 70).map((point) => {
    const x = room.left + ((point + 0.5) / times.length) * room.width;
    // A centred label at the right edge would be cut off.
    const end = room.left + room.width;
    const place = x + 24 > end ? { x: end, 'text-anchor': 'end' } : { x, 'text-anchor': 'middle' };
    return (
      <text {...place} y={foot + 17}>
        {labels[point]}
      </text>
    );
  });
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: it cannot have the focus
    <g class="axes" aria-hidden="true">
      {across}
      {below}
    </g>
  );
}

const crossAt = (place: number, { left, top, width, height }: Room): string =>
  `M${left + place * width} ${top}v${height}`;

/** The current width of an element. */
function useWidth() {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(320);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [box, width] as const;
}

/** The values of a plot as a table, newest first. It is created when the user opens it. */
function PlotTable({ title, series, points, format, hrefAt }: PlotProps) {
  const label = `${title}, table`;
  const columns: Column<number>[] = [
    { title: 'When', cell: (point) => (hrefAt ? <a href={hrefAt(point)}>{points[point]}</a> : points[point]) },
    ...series.map((one) => ({ title: one.name, cell: (point: number) => textAt(one, point, format), isNumber: true })),
  ];
  const rows = [...points.keys()].toReversed();
  return (
    <Fold title={['As a table', <span class="hidden-label">: {title}</span>]}>
      <div class="plot-table" tabIndex={0} role="region" aria-label={label}>
        <DataTable label={label} columns={columns} rows={rows} rowKey={String} />
      </div>
    </Fold>
  );
}

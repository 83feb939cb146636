import { useLayoutEffect, useRef } from 'preact/hooks';
import { endSecondsOf, secondsOf, shownDays } from '../state/period.ts';
import type { FilterChange, Filters } from '../state/route.ts';
import { daySeconds, daySecondsOf } from '../state/times.ts';

type DayProps = { label: string; value?: string; change?: (day: string) => void; name?: string; isRequired?: boolean };

/** A day as in addresses, whatever the language of the browser: `2026-11-16`. It keeps what is being typed. `name`: in a form. */
export function DayField({ label, value = '', change, name, isRequired }: DayProps) {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (field.current !== null) field.current.value = value;
  }, [value]);
  const onChange = () => {
    const day = field.current?.value.trim() ?? '';
    if (day === '' || daySecondsOf(day) !== undefined) change?.(day);
  };
  return (
    <input
      ref={field}
      class="day-field"
      autoComplete="off"
      onChange={onChange}
      name={name}
      required={isRequired}
      aria-label={`${label}, such as 2026-11-16`}
      placeholder="yyyy-mm-dd"
      pattern={'\\d{4}-\\d\\d-\\d\\d'}
    />
  );
}

/** The first and the last day of the period in the address. The other one moves along, so that their order stays right. */
export function PeriodFields({ filters, set }: { filters: Filters; set: (values: FilterChange) => void }) {
  const [from, to] = [secondsOf(filters.from), endSecondsOf(filters.to)];
  const [first, last] = shownDays(filters);
  const setFrom = (day: number | undefined) =>
    set({ days: '', from: day, to: day !== undefined && to !== undefined ? Math.max(to, day + daySeconds) : to });
  const setTo = (day: number | undefined) =>
    day === undefined
      ? set({ days: '', from, to: '' })
      : set({ days: '', from: from && Math.min(from, day), to: day + daySeconds });
  return (
    <div class="row">
      <DayField label="From" value={first} change={(day) => setFrom(daySecondsOf(day))} />
      to
      <DayField label="To" value={last} change={(day) => setTo(daySecondsOf(day))} />
    </div>
  );
}

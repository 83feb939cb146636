import { h, useLayoutEffect, useRef } from '../../shared/dom.ts';
import { daySecondsOf } from '../state/times.ts';

type Props = { label: string; value: string; change: (day: string) => void };

/** A day as in addresses, whatever the language of the browser: `2026-11-16`. It keeps what is being typed. */
export function DayField({ label, value, change }: Props) {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (field.current !== null) field.current.value = value;
  }, [value]);
  const onChange = () => {
    const day = field.current?.value.trim() ?? '';
    if (day === '' || daySecondsOf(day) !== undefined) change(day);
  };
  return h('input', {
    ...{ ref: field, class: 'day-field', autoComplete: 'off', onChange },
    ...{ 'aria-label': `${label}, such as 2026-11-16`, placeholder: 'yyyy-mm-dd', pattern: '\\d{4}-\\d\\d-\\d\\d' },
  });
}

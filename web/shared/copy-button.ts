import { button, el, h, useEffect, useRef, useState } from './dom.ts';
import { Icon, type IconName } from './icon.ts';

type Props = { text: string; label?: string; icon?: IconName | undefined };

/** Copies a text, and shows whether that worked. With an icon, the label is for screen readers and the tooltip. */
export function CopyButton({ text, label = 'Copy', icon }: Props) {
  const [shown, show] = useState(label);
  const timer = useRef<number | undefined>(undefined);
  // The timer's closure must not keep the text, which may be a secret, after the button is gone.
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    const done = (await write(text)) ? 'Copied' : 'Copy it by hand';
    show(done);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => show(label), 2_000);
  };
  const isDone = shown !== label;
  if (icon === undefined) return button({ class: 'copy quiet', onClick: copy, 'aria-live': 'polite' }, shown);
  return button(
    { class: 'copy quiet icon-only', title: label, onClick: copy, 'aria-live': 'polite' },
    h(Icon, { name: isDone ? 'check' : icon }),
    el('span.hidden-label', shown),
  );
}

/** Browsers deny the clipboard API to pages loaded over plain HTTP from another machine; `execCommand` works there. */
async function write(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    (document.querySelector('dialog[open]') ?? document.body).append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}

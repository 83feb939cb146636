import { h, useEffect, useRef, useState } from './dom.ts';

/** Copies a text; says that it did. */
export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [said, say] = useState(label);
  const timer = useRef<number | undefined>(undefined);
  // It holds the text, which may be a secret, no longer than it is shown.
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    const done = (await write(text)) ? 'Copied' : 'Select and copy it';
    say(done);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => say(label), 2_000);
  };
  return h('button', { type: 'button', class: 'copy', onClick: copy, 'aria-live': 'polite' }, said);
}

/** Browsers keep the clipboard from pages that came over plain HTTP from another machine: the old way then. */
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

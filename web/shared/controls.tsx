import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/** Lines on a grid of 24, drawn with round ends. */
const paths = {
  overview: 'M4 20V10M10 20V4M16 20v-7M21 20H3',
  conversations: 'M20 11.5a7.5 7.5 0 0 1-11 6.6L4 19.5l1.4-4.6A7.5 7.5 0 1 1 20 11.5Z',
  review: 'M4 6h11M4 12h7M4 18h4M12.5 16.5l3 3 5-7',
  users:
    'M3.5 19.5a5.75 5.75 0 0 1 11.5 0M9.25 11.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M15.5 5a3.3 3.3 0 0 1 0 6.2M17.5 14.4a5.6 5.6 0 0 1 3.25 5.1',
  knowledge: 'M12 6.5C10 5 7.5 4.5 4 4.5v13c3.5 0 6 .5 8 2 2-1.5 4.5-2 8-2v-13c-3.5 0-6 .5-8 2Zm0 0v13',
  models: 'M12 3.5 19.5 7.7v8.6L12 20.5l-7.5-4.2V7.7ZM12 12l7.5-4.3M12 12v8.5M12 12 4.5 7.7',
  keys: 'M14.5 14a5 5 0 1 0-4.6-3.1L4 16.8V20h3.2v-2.2h2.2v-2.2l1.6-1.6a5 5 0 0 0 3.5 0M16 8h.01',
  activity: 'M3.5 12h4l3-7.5 4 15 2.5-7.5h3.5',
  app: 'M4.5 4.5h6v6h-6ZM13.5 4.5h6v6h-6ZM4.5 13.5h6v6h-6ZM13.5 13.5h6v6h-6Z',
  account: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4.5 20a7.5 7.5 0 0 1 15 0',
  menu: 'M4 7h16M4 12h16M4 17h16',
  bookmark: 'M7 4.5h10v15l-5-4-5 4Z',
  filter: 'M4 7h16M7 12h10M10 17h4',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14M20 20l-4-4',
  disliked: 'M8 4v10l4.5 6.5a1.6 1.6 0 0 0 1.8-1.7L14 14h4.5a1.7 1.7 0 0 0 1.7-2l-1.3-6.5A2 2 0 0 0 17 4ZM8 4H4.5v10H8',
  liked: 'M8 20V10l4.5-6.5a1.6 1.6 0 0 1 1.8 1.7L14 10h4.5a1.7 1.7 0 0 1 1.7 2l-1.3 6.5A2 2 0 0 1 17 20ZM8 20H4.5V10H8',
  failed: 'M12 4 3 19.5h18ZM12 10v4.5M12 17h.01',
  file: 'M13.5 3.5H6.5v17h11V7.5ZM13.5 3.5v4h4',
  copy: 'M9 9h10.5v10.5H9ZM15 9V4.5H4.5V15H9',
  link: 'M10 14a4 4 0 0 0 5.7 0l3.1-3.1a4 4 0 0 0-5.7-5.7L12 6.3M14 10a4 4 0 0 0-5.7 0l-3.1 3.1a4 4 0 0 0 5.7 5.7l1.1-1.1',
  json: 'M9.5 4.5H9A2.5 2.5 0 0 0 6.5 7v2.5L4 12l2.5 2.5V17A2.5 2.5 0 0 0 9 19.5h.5M14.5 4.5h.5A2.5 2.5 0 0 1 17.5 7v2.5L20 12l-2.5 2.5V17a2.5 2.5 0 0 1-2.5 2.5h-.5',
  download: 'M12 4v11M7.5 11l4.5 4.5 4.5-4.5M4.5 20h15',
  left: 'm14.5 5-7 7 7 7',
  right: 'm9.5 5 7 7-7 7',
  down: 'm5 9 7 7 7-7',
  close: 'M6 6l12 12M18 6 6 18',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  more: 'M6 12a.8.8 0 1 1-1.6 0A.8.8 0 0 1 6 12m6.8 0a.8.8 0 1 1-1.6 0 .8.8 0 0 1 1.6 0m6.8 0a.8.8 0 1 1-1.6 0 .8.8 0 0 1 1.6 0',
  eye: 'M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12ZM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6',
  refresh: 'M20 5v5h-5M19.5 10a8 8 0 1 0 .4 4',
} as const;

export type IconName = keyof typeof paths;

/** A picture beside a word that says the same; screen readers skip it. */
export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={paths[name]} />
  </svg>
);

type OutLinkProps = { href: string; title?: string | undefined; class?: string; children?: ComponentChildren };

/** A link to another site, which does not learn who looks at it. */
export const OutLink = (props: OutLinkProps) => <a {...props} target="_blank" rel="noopener noreferrer nofollow" />;

/** A button that does not submit a form. */
export const Button = (props: JSX.IntrinsicElements['button']) => <button type="button" {...props} />;

/** A text that tells how far something is, also to screen readers. */
export const Status = ({ children }: { children?: ComponentChildren }) => (
  <p class="soft" role="status">
    {children}
  </p>
);

/** An action with a picture only: its name is for screen readers and the tooltip. */
export const IconButton = ({ icon, label, ...props }: IconButtonProps) => (
  <Button class="quiet icon-only" aria-label={label} title={label} {...props}>
    <Icon name={icon} />
  </Button>
);
type IconButtonProps = JSX.IntrinsicElements['button'] & { icon: IconName; label: string };

/** The first link of a page, which is visible when it has the focus. */
export const SkipLink = ({ skip }: { skip: () => void }) => (
  // biome-ignore lint/a11y/useValidAnchor: readers expect a link, and the address is that of a view
  <a
    class="skip"
    href="#main"
    onClick={(event) => {
      event.preventDefault();
      skip();
    }}
  >
    Skip to content
  </a>
);

/** The mark of Backscroll: lines of text, and the way back up. */
export const Mark = () => (
  <svg class="mark" viewBox="0 0 24 24" aria-hidden="true">
    <rect width={24} height={24} rx={6} />
    <path d="M6.5 17h11M6.5 12.5h5M16 13V7M13.3 9.6 16 6.9l2.7 2.7" />
  </svg>
);

type CopyProps = { text: string; label?: string; icon?: IconName | undefined };

/** Copies a text, and shows whether that worked. With an icon, the label is for screen readers and the tooltip. */
export function CopyButton({ text, label = 'Copy', icon }: CopyProps) {
  const [shown, show] = useState(label);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // The timer's closure must not keep the text, which may be a secret, after the button is gone.
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    const done = (await copyText(text)) ? 'Copied' : 'Copy it by hand';
    show(done);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => show(label), 2_000);
  };
  const picture = icon && [<Icon name={shown === label ? icon : 'check'} />, <span class="hidden-label">{shown}</span>];
  return (
    <Button class={`copy quiet ${icon ? 'icon-only' : ''}`} title={icon && label} onClick={copy} aria-live="polite">
      {picture ?? shown}
    </Button>
  );
}

/** Browsers deny the clipboard API to pages loaded over plain HTTP from another machine; `execCommand` works there. */
export async function copyText(text: string): Promise<boolean> {
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

type FieldProps = JSX.IntrinsicElements['input'] & { label: ComponentChildren; input?: (value: string) => void };

/** A field with its label. `input` gets what is typed. */
export const Field = ({ label, input, ...props }: FieldProps) => (
  <label>
    {label}
    <input {...props} onInput={input && (({ currentTarget }) => input(currentTarget.value))} />
  </label>
);

type SelectProps = {
  label: ComponentChildren;
  value: string;
  options: readonly (readonly [value: string, text: string])[];
  change: (value: string) => void;
  class?: string;
  required?: boolean;
};

export const Select = ({ label, value, options, change, class: name, required = false }: SelectProps) => (
  <label class={name}>
    {label}
    <select value={value} required={required} onChange={({ currentTarget }) => change(currentTarget.value)}>
      {options.map(([one, text]) => (
        <option key={one} value={one}>
          {text}
        </option>
      ))}
    </select>
  </label>
);

type TermsProps = {
  rows: readonly (readonly [name: ComponentChildren, value: ComponentChildren, look?: string] | false)[];
  class?: string;
};

/** Names and values. */
export const Terms = ({ rows, class: name = 'values' }: TermsProps) => (
  <dl class={name}>{rows.map((row) => row && [<dt>{row[0]}</dt>, <dd class={row[2]}>{row[1]}</dd>])}</dl>
);

/** Parts of a sentence, with words between them. */
export const joined = (parts: readonly ComponentChildren[], words = ', '): ComponentChildren[] =>
  parts.flatMap((part, n) => (n === 0 ? [part] : [words, part]));

const openIds = new Set<string>();

/** Whether something is open. With an id, it stays so when a list draws it again. */
export function useOpen(id: string, isOpenAtFirst = openIds.has(id)) {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const change = (open: boolean) => {
    if (open && id !== '') openIds.add(id);
    else openIds.delete(id);
    setOpen(open);
  };
  return [isOpen, change] as const;
}

type FoldProps = {
  class?: string;
  id?: string;
  title: ComponentChildren;
  isOpen?: boolean;
  children?: ComponentChildren;
};

/** A title with content that opens on a click. Closed content is not in the page. */
export function Fold({ class: name, id = '', title, isOpen: isOpenAtFirst, children }: FoldProps) {
  const [isOpen, setOpen] = useOpen(id, isOpenAtFirst);
  return (
    <details class={name} open={isOpen} onToggle={({ currentTarget: { open } }) => setOpen(open)}>
      <summary>{title}</summary>
      {isOpen && children}
    </details>
  );
}

import { type ComponentChildren, h, type JSX, type VNode } from 'preact';

/* The library of the pages. */
export * from 'preact';
export * from 'preact/hooks';

/** An element with classes and no other properties: `el('div.card.stack', child)`. Children that need several lines are a list. */
export function el(selector: string, ...children: ComponentChildren[]): VNode {
  const [tag = '', ...classes] = selector.split('.');
  return h(tag, classes.length === 0 ? null : { class: classes.join(' ') }, ...children);
}

/** A button that does not submit a form. */
export const button = (props: JSX.IntrinsicElements['button'], ...children: ComponentChildren[]): JSX.Element =>
  h('button', { type: 'button', ...props }, ...children);

type InputProps = JSX.IntrinsicElements['input'] & { input?: ((value: string) => void) | undefined };

/** A field with its label. `input` gets what is typed. */
export const field = (label: ComponentChildren, { input, ...props }: InputProps): VNode =>
  el('label', label, h('input', input ? { ...props, onInput: typed(input) } : props));

/** A listener that passes on what is typed. */
export const typed = (input: (value: string) => void) => (event: Event) =>
  input((event.target as HTMLInputElement | HTMLTextAreaElement).value);

import { type ComponentChildren, h, useState } from '../../shared/dom.ts';

/** What was unfolded, so that it still is when it is drawn again. */
const unfolded = new Set<string>();

type FoldProps = { id: string; title: ComponentChildren; inside: () => ComponentChildren };

/** Something to unfold. What is folded is not in the page. */
export function Fold({ id, title, inside }: FoldProps) {
  const [isOpen, setOpen] = useState(unfolded.has(id));
  const toggle = (event: Event) => {
    const { open } = event.currentTarget as HTMLDetailsElement;
    if (open) unfolded.add(id);
    else unfolded.delete(id);
    setOpen(open);
  };
  return h('details', { class: 'fold', open: isOpen, onToggle: toggle }, h('summary', null, title), isOpen && inside());
}

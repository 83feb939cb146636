import { type ComponentChildren, h, useState } from '../../shared/dom.ts';

/** What was unfolded, so that it still is when it is drawn again. */
const openIds = new Set<string>();

type CollapsibleProps = { id: string; title: ComponentChildren; content: () => ComponentChildren };

/** Something to unfold. What is folded is not in the page. */
export function Collapsible({ id, title, content: inside }: CollapsibleProps) {
  const [isOpen, setOpen] = useState(openIds.has(id));
  const toggle = (event: Event) => {
    const { open } = event.currentTarget as HTMLDetailsElement;
    if (open) openIds.add(id);
    else openIds.delete(id);
    setOpen(open);
  };
  return h('details', { class: 'fold', open: isOpen, onToggle: toggle }, h('summary', null, title), isOpen && inside());
}

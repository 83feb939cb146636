import { type ComponentChildren, el, h, useState } from '../../shared/dom.ts';

/** The ids of open collapsibles, so that they stay open when the transcript draws them again. */
const openIds = new Set<string>();

type CollapsibleProps = { id: string; title: ComponentChildren; content: () => ComponentChildren };

/** A title with content that opens on a click. Closed content is not in the page. */
export function Collapsible({ id, title, content }: CollapsibleProps) {
  const [isOpen, setOpen] = useState(openIds.has(id));
  const toggle = (event: Event) => {
    const { open } = event.currentTarget as HTMLDetailsElement;
    if (open) openIds.add(id);
    else openIds.delete(id);
    setOpen(open);
  };
  return h(
    'details',
    { class: 'collapsible', open: isOpen, onToggle: toggle },
    el('summary', title),
    isOpen && content(),
  );
}

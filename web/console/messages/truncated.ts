import { button, type ComponentChild, el, useState } from '../../shared/dom.ts';
import { count } from '../components/ui.ts';

/** A longer text is shown in full only on request: drawing megabytes would block the page. */
const unitsMax = 40_000;

/** The ids of texts that the user wants in full, so that they stay so when the transcript draws them again. */
const fullIds = new Set<string>();

/** A text; only its beginning if it is very long. */
export function Truncated({ id, text, draw }: { id: string; text: string; draw: (text: string) => ComponentChild }) {
  const [isFull, setFull] = useState(fullIds.has(id));
  if (isFull || text.length <= unitsMax) return draw(text);
  const showAll = () => {
    fullIds.add(id);
    setFull(true);
  };
  // Does not cut a surrogate pair.
  const end = text.codePointAt(unitsMax - 1) === text.charCodeAt(unitsMax - 1) ? unitsMax : unitsMax - 1;
  return el('div', draw(text.slice(0, end)), button({ onClick: showAll }, `Show all ${count(text.length)} characters`));
}

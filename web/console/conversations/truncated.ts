import { type ComponentChild, h, useState } from '../../shared/dom.ts';
import { count } from '../parts/ui.ts';

/** More characters than these are shown when somebody asks for them: drawing megabytes would hold up the page. */
const unitsMax = 40_000;

/** What was asked for, so that it is still there when it is drawn again. */
const whole = new Set<string>();

/** A text, its beginning only where it is very long. */
export function Truncated({ id, text, draw }: { id: string; text: string; draw: (text: string) => ComponentChild }) {
  const [isWhole, setWhole] = useState(whole.has(id));
  if (isWhole || text.length <= unitsMax) return draw(text);
  const showAll = () => {
    whole.add(id);
    setWhole(true);
  };
  // A character of two units stays in one piece.
  const end = text.codePointAt(unitsMax - 1) === text.charCodeAt(unitsMax - 1) ? unitsMax : unitsMax - 1;
  return h(
    'div',
    null,
    draw(text.slice(0, end)),
    h('button', { type: 'button', onClick: showAll }, `Show all ${count(text.length)} characters`),
  );
}

import { CopyButton } from '../../shared/copy-button.ts';
import { h } from '../../shared/dom.ts';
import { Collapsible } from './collapsible.ts';
import type { ShownMessage } from './transcript-history.ts';
import { Truncated } from './truncated.ts';

/** The parent of messages that were sent without one. They are no alternatives of each other. */
export const noParent = '00000000-0000-0000-0000-000000000000';

/** The id of a message, and what can be copied of it: its address, its answer, all of it as JSON. */
export function MessageActions({ message, href }: { message: ShownMessage; href: string }) {
  const { id, answer } = message;
  const { feedback_content, ...fields } = message;
  const json = () => JSON.stringify(fields, null, 2);
  return [
    h(
      'span',
      { class: 'id row' },
      h('code', { title: `message ${id}` }, id.slice(0, 8)),
      h(CopyButton, { text: id, label: 'Copy id' }),
      h(CopyButton, { text: `${location.origin}${location.pathname}${href}`, label: 'Copy link' }),
      answer !== '' && h(CopyButton, { text: answer, label: 'Copy answer' }),
    ),
    h(Collapsible, {
      id: `${id} json`,
      title: 'JSON',
      content: () => [
        h(CopyButton, { text: json(), label: 'Copy JSON' }),
        h(Truncated, { id: `${id} json`, text: json(), draw: code }),
      ],
    }),
  ];
}

const code = (text: string) =>
  h('pre', { dir: 'ltr', tabIndex: 0, role: 'group', 'aria-label': 'Message as JSON' }, text);

/** The messages with the same parent: alternative questions, or answers that were made again. */
export type Siblings = { at: number; ids: readonly string[]; goTo: (id: string) => void };

/** The siblings of the loaded messages, by message. */
export function siblingsOf(messages: readonly ShownMessage[], goTo: (id: string) => void): Map<string, Siblings> {
  const byParent = new Map<string, string[]>();
  for (const { id, parent_message_id } of messages) {
    if (parent_message_id === null || parent_message_id === noParent) continue;
    const ids = byParent.get(parent_message_id);
    if (ids === undefined) byParent.set(parent_message_id, [id]);
    else ids.push(id);
  }
  const groups = [...byParent.values()].filter((ids) => ids.length > 1);
  return new Map(groups.flatMap((ids) => ids.map((id, at) => [id, { at, ids, goTo }])));
}

export function SiblingSteps({ siblings: { at, ids, goTo } }: { siblings: Siblings }) {
  const step = (to: number, label: string, sign: string) => {
    const id = ids[to];
    const go = () => id !== undefined && goTo(id);
    return h(
      'button',
      { type: 'button', class: 'quiet', disabled: id === undefined, 'aria-label': label, onClick: go },
      sign,
    );
  };
  return h(
    'span',
    { class: 'steps-of', title: 'messages with the same parent' },
    step(at - 1, 'Previous sibling', '‹'),
    `${at + 1} of ${ids.length}`,
    step(at + 1, 'Next sibling', '›'),
  );
}

import { CopyButton, Fold, Icon, IconButton } from '../../shared/controls.tsx';
import type { ShownMessage } from '../conversations/transcript-history.ts';
import { hrefWith } from '../state/route.ts';
import { Pre } from './markdown.tsx';
import { Truncated } from './message-parts.tsx';

/** The parent of messages that were sent without one. They are no alternatives of each other. */
export const noParent = '00000000-0000-0000-0000-000000000000';

type ActionsProps = { message: ShownMessage; href: string; isInReview: boolean };

/** Copies of a message: its address, its answer, all of it as JSON; and the way to its review. */
export function MessageActions({ message, href, isInReview }: ActionsProps) {
  const { id, answer } = message;
  const { details, ...fields } = message;
  const title = [<Icon name="json" />, <span class="hidden-label">JSON</span>];
  return (
    <>
      <span class="row tight message-actions">
        <CopyButton text={`${location.origin}${location.pathname}${href}`} label="Copy link" icon="link" />
        {answer !== '' && <CopyButton text={answer} label="Copy answer" icon="copy" />}
        {!isInReview && (
          <a class="button quiet icon-only" href={reviewHref(id)} aria-label="Review" title="Review">
            <Icon name="review" />
          </a>
        )}
      </span>
      <Fold class="collapsible small" id={`${id} json`} title={title}>
        <Json id={`${id} json`} value={fields} />
      </Fold>
    </>
  );
}

export const reviewHref = (id: string): string => hrefWith(['review'], { at: id });

const code = (text: string) => <Pre label="Message as JSON">{text}</Pre>;

function Json({ id, value }: { id: string; value: object }) {
  const text = JSON.stringify(value, null, 2);
  return [<CopyButton text={text} label="Copy JSON" />, <Truncated id={id} text={text} draw={code} />];
}

/** The messages with the same parent: alternative questions, or answers that were made again. */
export type Siblings = { at: number; ids: readonly string[]; goTo: (id: string) => void };

/** The siblings of the loaded messages, by message. */
export function siblingsOf(messages: readonly ShownMessage[], goTo: (id: string) => void): Map<string, Siblings> {
  const byParent = Map.groupBy(messages, ({ parent_message_id }) => parent_message_id);
  const groups = [...byParent]
    .filter(([parent, children]) => parent !== null && parent !== noParent && children.length > 1)
    .map(([, children]) => children.map(({ id }) => id));
  return new Map(groups.flatMap((ids) => ids.map((id, at) => [id, { at, ids, goTo }])));
}

export const SiblingSteps = ({ siblings: { at, ids, goTo } }: { siblings: Siblings }) => (
  <span class="row tight" title="messages with the same parent">
    <StepButton id={ids[at - 1]} goTo={goTo} label="Previous sibling" icon="left" />
    {at + 1} of {ids.length}
    <StepButton id={ids[at + 1]} goTo={goTo} label="Next sibling" icon="right" />
  </span>
);

type StepProps = { id: string | undefined; goTo: (id: string) => void; label: string; icon: 'left' | 'right' };

/** A step to another message. */
export const StepButton = ({ id = '', goTo, label, icon }: StepProps) => (
  <IconButton icon={icon} label={label} disabled={id === ''} onClick={() => goTo(id)} />
);

import { Fold, Icon } from '../../shared/controls.tsx';
import { causeOf } from './error-cause.ts';

/** Why there is no answer: the innermost message first. What a provider wrapped around it is collapsed. */
export function MessageError({ id, error }: { id: string; error: string | null }) {
  const text = error ?? 'no reason was recorded.';
  const cause = causeOf(text);
  return (
    <div class="note bad stack">
      <p class="as-written">
        <Icon name="failed" />
        <strong> Error: </strong>
        {cause}
      </p>
      {cause !== text && (
        <Fold class="collapsible small" id={`${id} error`} title="Full error">
          <p class="as-written">{text}</p>
        </Fold>
      )}
    </div>
  );
}

import { useState } from 'preact/hooks';
import { limits } from '../../../server/src/contract/limits.ts';
import { Field } from '../../shared/controls.tsx';
import { Tick } from '../components/picker.tsx';
import { counted, ErrorNote, Section, Skeleton, Time } from '../components/ui.tsx';
import { useAttempt, useResponse } from '../hooks/requests.ts';
import { useSettled } from '../hooks/use-settled.ts';
import { pathOf, request } from '../state/api.ts';
import { useMayWrite } from '../state/route.ts';
import type { App, Retention } from '../state/types.ts';

export const daysText = (days: number | null): string => (days === null ? 'Kept for ever' : counted(days, 'day'));

/** What the next run of the retention would erase if the app had this period of its own; 0 for none of its own. */
function useDue(app_id: string, period: number | undefined) {
  const path = pathOf(['admin', 'retention'], { app_id, period: period === undefined ? undefined : `${period}` });
  const { body, error, reload } = useResponse<Retention>(path);
  return { row: body?.data[0], error, reload };
}

/** How long conversations of the app are kept. Its number is counted before the period is saved, as a run counts it. */
export function RetentionForm({ of: app, changed }: { of: App; changed: () => void }) {
  const { id, retention_days: own } = app;
  const [typed, setTyped] = useState(`${own ?? ''}`);
  const [isOwn, setOwn] = useState(own !== null);
  const { error, isBusy, attempt } = useAttempt();
  const mayWrite = useMayWrite('updateApp');
  const common = useDue(id, 0);
  const days = Number(typed);
  const isValid = !isOwn || (Number.isInteger(days) && days >= 1 && days <= limits.retentionDaysMax);
  const chosen = isOwn ? days : 0;
  const asked = Number(useSettled(`${isValid ? chosen : 0}`));
  const { row, error: unknown, reload } = useDue(id, asked);
  const isNew = chosen !== (own ?? 0);
  const save = (event: SubmitEvent) => {
    event.preventDefault();
    return attempt(async () => {
      await request(pathOf(['admin', 'apps', id]), { method: 'PATCH', body: { retention_days: isOwn ? days : null } });
      changed();
    });
  };
  return (
    <Section title="Retention" meta={mayWrite ? '' : 'set by the role admin'}>
      <form class="card stack retention" onSubmit={save}>
        <fieldset class="stack tight" disabled={!mayWrite}>
          <legend class="hidden-label">Conversations are kept</legend>
          <Tick type="radio" name="period" checked={!isOwn} onChange={() => setOwn(false)}>
            As everywhere <span class="soft">{common.row && daysText(common.row.retention_days).toLowerCase()}</span>
          </Tick>
          <Tick type="radio" name="period" checked={isOwn} onChange={() => setOwn(true)}>
            For a period of its own
          </Tick>
          {isOwn && (
            <Field
              label="Days after the last message"
              type="number"
              min={limits.retentionDaysMin}
              max={limits.retentionDaysMax}
              required
              value={typed}
              input={setTyped}
            />
          )}
        </fieldset>
        <ErrorNote error={unknown} retry={reload} />
        {row === undefined && unknown === undefined && <Skeleton lines={1} />}
        {row !== undefined && isValid && asked === chosen && <Due row={row} isNew={isNew} />}
        <ErrorNote error={error} />
        {mayWrite && (isNew || isBusy) && (
          <p>
            <button
              type="submit"
              class={(row?.conversations_due ?? 0) > 0 ? 'danger primary' : 'primary'}
              disabled={isBusy || !isValid || asked !== chosen || row === undefined}
            >
              Save the period
            </button>
          </p>
        )}
      </form>
    </Section>
  );
}

/** The dry run in words. */
function Due({ row, isNew }: { row: Retention['data'][number]; isNew: boolean }) {
  const { retention_days, conversations_due: due, oldest_activity: oldest } = row;
  if (retention_days === null) return <p class="soft">Nothing is erased by age.</p>;
  const run = isNew ? 'The first run after saving would erase' : 'The next run, within an hour, erases';
  return (
    <p class={due === 0 ? 'soft' : 'note warn'} role="status">
      {run} {due === 0 ? 'nothing' : <strong>{counted(due, 'conversation')}</strong>}
      {due > 0 && ' for good'}.
      {oldest !== null && [' The oldest had its last message on ', <Time at={oldest} form="day" />, '.']}
    </p>
  );
}

import { Chip, Chips } from '../components/filters.tsx';
import { Section } from '../components/ui.tsx';
import { useResponse } from '../hooks/requests.ts';
import { WorstTexts } from '../knowledge/worst-texts.tsx';
import { pathOf } from '../state/api.ts';
import { hrefWith } from '../state/route.ts';
import type { ReviewCounts } from '../state/types.ts';

const labelsShown = 8;

/** What is left to review, the labels that were given most, and the texts behind most disliked answers of all apps. */
export function ToReview({ app_id }: { app_id: string | undefined }) {
  const { body } = useResponse<ReviewCounts>(pathOf(['admin', 'reviews', 'counts'], { app_id }));
  const chip = (label: string, count: number, filters: Record<string, string>) => {
    const href = hrefWith(['review'], { app_id, ...filters });
    return <Chip key={label} label={label} count={count} isActive={false} href={href} />;
  };
  return (
    <>
      {body && body.open + body.labels.length > 0 && (
        <Section title="Review">
          <Chips label="Reviews">
            {chip('Open', body.open, {})}
            {body.labels.slice(0, labelsShown).map(({ label, count }) => chip(label, count, { state: 'all', label }))}
          </Chips>
        </Section>
      )}
      {app_id === undefined && <WorstTexts />}
    </>
  );
}

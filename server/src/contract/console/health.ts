import type { Static } from 'typebox';
import { choice, epochSeconds, integer, list, named, nullable, number, text } from '../primitives.ts';

export const verdictStates = ['ok', 'warn', 'fail'] as const;
const state = (description: string) => choice(verdictStates, description);

const Verdict = named('HealthVerdict', 'A verdict.', {
  name: choice(
    ['requests', 'upstream', 'dify', 'search', 'backup', 'retention', 'erased_copies', 'database', 'service'],
    'What was looked at. What is not used is left out.',
  ),
  state: state('`warn`: look at it; `fail`: it does not work.'),
  text: text('The verdict, for people.'),
  link: nullable(text('Path of the page that helps, on this host.')),
});
export type Verdict = Static<typeof Verdict>;

export const HealthReport = named('HealthReport', 'Whether this installation works, in words.', {
  state: state('The worst state of a verdict.'),
  verdicts: list(Verdict, 'Failures first, then warnings.'),
  version: text('Version of this instance.'),
  started_at: epochSeconds('Start of this instance.'),
  instances: nullable(
    integer('Instances that are connected to the database; null if the database does not respond soon.'),
  ),
  database_bytes: nullable(
    number('double', 'Size of the database; null if it does not respond soon. On a cluster that of one node.'),
  ),
});
export type HealthReport = Static<typeof HealthReport>;

import { useResponse } from '../hooks/requests.ts';
import { hrefOf } from '../state/route.ts';
import type { HealthReport } from '../state/types.ts';

type State = HealthReport['state'];

const words: Record<State, string> = { ok: 'Healthy', warn: 'Look at this', fail: 'Something fails' };
const refreshMillis = 60_000;
const useHealth = () => useResponse<HealthReport>('/admin/health', refreshMillis).body;

/** The shape says the same as the colour. */
const Dot = ({ state }: { state: State }) => <span class={`verdict-dot ${state}`} aria-hidden="true" />;

/** The health in one sentence: each part leads to the page that helps, bad ones first. */
export function Verdicts() {
  const health = useHealth();
  // As high as it will be, so that nothing below it moves.
  if (health === undefined) return <p class="verdicts soft small">…</p>;
  return (
    <ul class="verdicts plain row small" aria-label="Health">
      <li>
        <b class={health.state}>{words[health.state]}</b>
      </li>
      {health.verdicts.map(({ name, state, text, link }) => (
        <li key={name} class={state}>
          <Dot state={state} />
          {state !== 'ok' && <span class="hidden-label">{words[state]}: </span>}
          {link === null ? text : <a href={link.replace('/console', '')}>{text}</a>}
        </li>
      ))}
    </ul>
  );
}

/** The health in the bar; its words are the tooltip. */
export function HealthDot() {
  const health = useHealth();
  if (health === undefined) return null;
  const bad = health.verdicts.filter(({ state }) => state !== 'ok').map(({ text }) => text);
  const title = [words[health.state], ...bad].join('. ');
  return (
    <a class="quiet icon-only health-link" href={hrefOf('overview', 'health')} aria-label={title} title={title}>
      <Dot state={health.state} />
    </a>
  );
}

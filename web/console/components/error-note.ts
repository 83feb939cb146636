import { button, el, h } from '../../shared/dom.ts';
import { Icon } from '../../shared/icon.ts';
import type { ApiError } from '../state/api.ts';

type Props = { error: Error | ApiError | undefined; retry?: (() => void) | undefined; label?: string };

export function ErrorNote({ error, retry, label = 'Try again' }: Props) {
  if (error === undefined) return null;
  return h(
    'div',
    { class: 'note bad error-note', role: 'alert' },
    h(Icon, { name: 'failed' }),
    el('p', error.message),
    'requestId' in error && error.requestId !== null && el('code.soft', `request ${error.requestId}`),
    retry && button({ onClick: retry }, label),
  );
}

import { h } from '../../shared/dom.ts';
import type { ApiError } from './api.ts';

export function ErrorNote({ error, retry }: { error: ApiError | undefined; retry?: () => void }) {
  if (error === undefined) return null;
  return h(
    'div',
    { class: 'note bad', role: 'alert' },
    h('p', null, error.message),
    error.requestId !== null && h('p', { class: 'mono' }, `request ${error.requestId}`),
    retry && h('button', { type: 'button', onClick: retry }, 'Try again'),
  );
}

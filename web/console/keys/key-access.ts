import { h } from '../../shared/dom.ts';
import { pathOf, request } from '../parts/api.ts';
import { readOnlyKinds } from '../parts/server-rules.ts';
import type { Key } from '../parts/types.ts';
import { ErrorNote } from '../parts/ui.ts';
import { useAttempt } from '../parts/use-attempt.ts';
import { titleOf } from './key-words.ts';

type Props = { of: Key; changed: (key: Key, words: string) => void };

/** Makes a key read-only, or allows it to write. Without confirmation, because it can be undone. */
export function KeyAccess({ of: key, changed }: Props) {
  const { error, isBusy, attempt } = useAttempt();
  if (!readOnlyKinds.includes(key.kind)) return null;
  const change = () =>
    attempt(async () => {
      const path = pathOf(['admin', 'keys', key.id]);
      const { body } = await request<Key>(path, { method: 'PATCH', body: { read_only: !key.read_only } });
      changed(body, body.read_only ? 'is now read-only' : 'is now read-write');
    });
  const label = key.read_only ? 'Allow writes' : 'Make read-only';
  return [
    h(
      'button',
      { type: 'button', class: 'quiet', 'aria-label': `${label}: ${titleOf(key)}`, disabled: isBusy, onClick: change },
      label,
    ),
    h(ErrorNote, { error }),
  ];
}

import { button, el, h, useEffect, useRef } from '../../shared/dom.ts';
import { Copyable } from '../components/copyable.ts';
import type { KeyKind } from '../state/server-rules.ts';
import { curlOf } from './key-labels.ts';

export type NewKey = { kind: KeyKind; secret: string; conversation_id: string | undefined };

/** Shows a secret once. It is only in the state of the dialog. */
export function KeySecret({ of: { kind, secret, conversation_id }, close }: { of: NewKey; close: () => void }) {
  const box = useRef<HTMLDivElement>(null);
  // The element with the focus was removed with the form.
  useEffect(() => box.current?.focus(), []);
  const curl = curlOf(kind, secret, location.origin, conversation_id);
  return h(
    'div',
    { class: 'stack', tabIndex: -1, ref: box },
    h(
      'p',
      { class: 'note warn', role: 'status' },
      'Copy the secret now. It is shown only once: the service stores only a digest of it.',
    ),
    h(Copyable, { label: 'Secret', text: secret, action: 'Copy secret' }),
    h(Copyable, { label: 'Try it', text: curl, action: 'Copy command' }),
    kind === 'writer' &&
      el('p.soft', el('code', 'records.ndjson'), ' contains conversation and message records, one per line.'),
    el('div.row', button({ class: 'primary', onClick: close }, 'I have copied it')),
  );
}

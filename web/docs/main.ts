import { button, el, h, render, useEffect, useState } from '../shared/dom.ts';
import { applyTheme } from '../shared/settings.ts';
import type { Document } from './document.ts';
import { Reference } from './reference.ts';

/** Loads the OpenAPI document of the service and shows it. */
function Page() {
  const [document, setDocument] = useState<Document>();
  const [hasFailed, setFailed] = useState(false);
  const load = () => {
    setFailed(false);
    fetch('/openapi.json')
      .then((response) => (response.ok ? response.json() : Promise.reject()))
      .then(setDocument, () => setFailed(true));
  };
  useEffect(load, []);
  if (document !== undefined) return h(Reference, { document });
  return el(
    'main.alone',
    hasFailed
      ? h(
          'div',
          { class: 'note bad', role: 'alert' },
          el('p', 'The OpenAPI document cannot be loaded.'),
          button({ onClick: load }, 'Try again'),
        )
      : h('p', { class: 'soft', role: 'status' }, 'Loading…'),
  );
}

applyTheme();
render(h(Page, null), document.body);

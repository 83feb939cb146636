import { createHash } from 'node:crypto';
import type { BuiltPage, PageName } from '../server/src/http/pages/built-pages.ts';

/** The names of its files that a page loads; `later`: those that a module needs besides the main one when it is loaded later. */
type Parts = { main: string; style: string; font: string; later: Record<string, readonly string[]> };

/** The mark of the pages (`shared/controls.tsx`). */
const mark = (look: string, box: string, lines: string) =>
  `<svg ${look} viewBox="0 0 24 24"><rect width="24" height="24" rx="6" ${box}/>` +
  `<path d="M6.5 17h11M6.5 12.5h5M16 13V7M13.3 9.6 16 6.9l2.7 2.7" ${lines}/></svg>`;

/** In colours for light and dark tabs. */
const icon =
  'data:image/svg+xml,' +
  encodeURIComponent(
    mark(
      'xmlns="http://www.w3.org/2000/svg"',
      'fill="#2456c6"',
      'fill="none" stroke="#fff" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"',
    ),
  );

const titles: Record<PageName, string> = { console: 'Backscroll console', docs: 'Backscroll API reference' };

/** Applies the theme, so that nothing flashes. Names of settings: `shared/settings.tsx`. */
const applyTheme =
  "var d=document.documentElement,s=localStorage,t=s.getItem('backscroll-theme');if(t==='light'||t==='dark')d.dataset.theme=t;";

/**
 * Requests the files of the view in the address together, not one after another; if there may be a session, beside the main file,
 * and shows the frame.
 */
const prepareView = (parts: Parts['later']) =>
  `var p=${JSON.stringify(parts)},q=()=>{var v=location.hash.split(/[/?]/)[1]||'overview';` +
  "for(var n of Object.hasOwn(p,v)?p[v]:[]){var l=document.createElement('link');l.rel='modulepreload';l.href='/console/'+n;document.head.append(l)}" +
  "delete p[v]};addEventListener('hashchange',q);if(s.getItem('backscroll-signed-in')){d.dataset.frame='';q()}";

/** The views that everybody has (`console/views.ts`). */
const menu = ['Overview', 'Conversations', 'Review', 'Users', 'Knowledge', 'Models', 'Keys', 'Activity'];

/** The console before its modules are loaded. */
const frame =
  `<div class="first-frame shell" aria-hidden="true"><div class="top row"><span class="brand">${mark('class="mark"', '', '')}Backscroll</span>` +
  `<div class="views"><div class="menu-content"><nav>${menu.map((title) => `<span class="entry">${title}</span>`).join('')}</nav></div></div></div>` +
  `<div class="skeletons">${'<span class="skeleton"></span>'.repeat(8)}</div></div>\n`;

/** Loads the page again when the service serves another version of it than this one. */
const reloadChanged =
  "var own=[...document.querySelectorAll('[type=importmap],[integrity]'),document.currentScript].map(e=>e.outerHTML);" +
  'setInterval(async()=>{if(!document.hidden)try{var r=await fetch(location.pathname),t=await r.text();' +
  'if(r.ok&&!own.every(e=>t.includes(e)))location.reload()}catch{}},1000);';

const digestOf = (content: string | Uint8Array): string =>
  `sha256-${createHash('sha256').update(content).digest('base64')}`;

/** A page, and its content security policy: everything is loaded from this service, and from files with these digests. */
export function pageOf(name: PageName, parts: Parts, files: BuiltPage['files'], isDevelopment: boolean): BuiltPage {
  const path = `/${name}`;
  const digests = Object.fromEntries(files.map(([file, bytes]) => [`${path}/${file}`, digestOf(bytes)]));
  const integrity = Object.fromEntries(Object.entries(digests).filter(([file]) => file.endsWith('.js')));
  const script = `try{${applyTheme}${name === 'console' ? prepareView(parts.later) : ''}}catch{}${isDevelopment ? reloadChanged : ''}`;
  const importMap = JSON.stringify({ integrity });
  const [main, style] = [`${path}/${parts.main}`, `${path}/${parts.style}`];
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${titles[name]}</title>
<link rel="icon" href="${icon}">
<script type="importmap">${importMap}</script>
<link rel="stylesheet" href="${style}" integrity="${digests[style]}">
<script type="module" src="${main}" integrity="${digests[main]}"></script>
<script>${script}</script>
<link rel="preload" as="font" type="font/woff2" crossorigin href="${path}/${parts.font}">
</head>
<body>
${name === 'console' ? frame : ''}<noscript>This page needs JavaScript. It loads scripts from this service only.</noscript>
</body>
</html>
`;
  const policy =
    `default-src 'none'; script-src 'self' '${digestOf(importMap)}' '${digestOf(script)}'; style-src 'self'; img-src 'self' data:; ` +
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'";
  return { html, policy, files };
}

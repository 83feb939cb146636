/** What a page does before its modules are loaded: the script in its head, and the frame of the console in its body. */
export type FirstMoments = { script: string; frame: string };

/**
 * The script applies the theme, so that nothing flashes. In the console it also requests the module of the view in the address beside
 * `main.js`, not after it, and shows the frame if there may be a session. Names of settings: `web/shared/settings.ts`.
 */
export function firstMoments(path: string, files: readonly string[]): FirstMoments {
  const theme =
    "try{var d=document.documentElement,s=localStorage,t=s.getItem('backscroll-theme');if(t==='light'||t==='dark')d.dataset.theme=t;";
  if (path !== '/console') return { script: `${theme}}catch{}`, frame: '' };
  const views = files.filter((name) => name.endsWith('.js') && name !== 'main.js').map((name) => name.slice(0, -3));
  const preload =
    "if(s.getItem('backscroll-signed-in')){d.dataset.frame='';" +
    "var v=location.hash.split(/[/?]/)[1]||'overview',l=document.createElement('link');" +
    `if(${JSON.stringify(views)}.includes(v)){l.rel='modulepreload';l.href='${path}/'+v+'.js';document.head.append(l)}}`;
  return { script: `${theme}${preload}}catch{}`, frame };
}

const lines = '<span class="skeleton"></span>'.repeat(8);
const frame =
  '<div class="first-frame shell" aria-hidden="true"><div class="top row"><span class="brand">Backscroll</span></div>' +
  `<div class="skeletons">${lines}</div></div>\n`;

/** Sources of modules by their names. They import each other as `./name.js`. */
export type Sources = ReadonlyMap<string, string>;

const importPattern = /\bimport\s*(?:(\{[^}]*\}|\*\s*as\s+[\w$]+)\s*from\s*)?["']\.\/([^"'\n]+)["'];?/g;
const exportFromPattern = /\bexport\s*(\{[^}]*\}|\*)\s*from\s*["']\.\/([^"'\n]+)["'];?/g;
const exportListPattern = /\bexport\s*\{([^}]*)\};?/g;
const exportPattern = /^export\s+((?:async\s+)?(?:function\*?|class|const)\s+([\w$]+))/gm;
const laterPattern = /\bimport\(\s*["']\.\/([^"'\n]+)["']\s*\)/g;

/**
 * Joins the modules of a page, so that a view is a request or two instead of fifty: `main.js` with all that it imports, and a file for
 * each module that is imported later. What two of those need is in `main.js`, because a module runs once. Each module is
 * the body of a function, unchanged except for its imports and exports.
 */
export function joinModules(sources: Sources): Map<string, string> {
  const later = [
    ...new Set([...sources.values()].flatMap((text) => [...text.matchAll(laterPattern)].map(([, to]) => to))),
  ];
  const needed = new Map(later.map((name = '') => [name, inOrder(sources, name)]));
  const isShared = (name: string) => [...needed.values()].filter((names) => names.includes(name)).length > 1;
  const inMain = inOrder(sources, 'main.js');
  for (const name of [...needed.values()].flat()) if (isShared(name) && !inMain.includes(name)) inMain.push(name);
  // `main.js` itself runs last.
  const first = inMain.filter((name) => name !== 'main.js');
  const joined = new Map([['main.js', ['export const modules = {};', ...[...first, 'main.js'].map(wrap)].join('\n')]]);
  for (const [name, names] of needed) {
    const own = names.filter((one) => !inMain.includes(one));
    const exported = exportsOf(sources.get(name) ?? '').map(([, as]) => as);
    const end = `export const { ${exported.join(', ')} } = modules[${JSON.stringify(name)}];`;
    joined.set(name, ["import { modules } from './main.js';", ...own.map(wrap), end].join('\n'));
  }
  return joined;

  function wrap(name: string): string {
    return wrapModule(name, sources.get(name) ?? '');
  }
}

/** A module and all that it imports, each after what it imports. */
function inOrder(sources: Sources, name: string, path: readonly string[] = [], done: string[] = []): string[] {
  if (path.includes(name)) throw new Error(`modules of a page import each other: ${[...path, name].join(', ')}`);
  const text = sources.get(name);
  if (text === undefined) throw new Error(`no module of the page has the name ${name}`);
  if (done.includes(name)) return done;
  for (const pattern of [importPattern, exportFromPattern])
    for (const [, , imported = ''] of text.matchAll(pattern)) inOrder(sources, imported, [...path, name], done);
  done.push(name);
  return done;
}

function wrapModule(name: string, text: string): string {
  const moduleOf = (imported: string) => `modules[${JSON.stringify(imported)}]`;
  const passedOn = [...text.matchAll(exportFromPattern)].map(([, what = '', from = '']) =>
    what === '*'
      ? `...${moduleOf(from)}`
      : pairsOf(what.slice(1, -1))
          .map(([local, as]) => `${as}: ${moduleOf(from)}.${local}`)
          .join(', '),
  );
  const own = exportsOf(text.replaceAll(exportFromPattern, '')).map(([local, as]) => `${as}: ${local}`);
  const body = text
    .replaceAll(exportFromPattern, '')
    .replaceAll(importPattern, (_, what: string | undefined, from: string) => {
      if (what === undefined) return '';
      if (what.startsWith('*')) return `const ${what.replace(/^\*\s*as\s+/, '')} = ${moduleOf(from)};`;
      const names = pairsOf(what.slice(1, -1)).map(([local, as]) => (local === as ? local : `${local}: ${as}`));
      return `const { ${names.join(', ')} } = ${moduleOf(from)};`;
    })
    .replaceAll(exportListPattern, '')
    .replaceAll(exportPattern, '$1');
  return `${moduleOf(name)} = (() => {\n${body}\nreturn { ${[...passedOn, ...own].join(', ')} };\n})();`;
}

/** The exports of a module: the name inside, and the name outside. */
function exportsOf(text: string): [local: string, as: string][] {
  const lists = [...text.matchAll(exportListPattern)].flatMap(([, list = '']) => pairsOf(list));
  const declared = [...text.matchAll(exportPattern)].map(([, , name = '']): [string, string] => [name, name]);
  return [...lists, ...declared];
}

/** `a, b as c` */
function pairsOf(list: string): [string, string][] {
  const entries = list.split(',').map((entry) => entry.trim());
  return entries
    .filter((entry) => entry !== '')
    .map((entry) => {
      const [local = '', as = local] = entry.split(/\s+as\s+/);
      return [local, as];
    });
}

import module from 'node:module';

/**
 * A module as browsers take it: without types, and with imports that name files beside it, since a page's own files and
 * those it shares are served from one place.
 */
export function browserModule(source: string): string {
  return withoutTypes(source)
    .replace(/^\/\/# sourceMappingURL=.*$/m, '')
    .replace(/\b(from\s*|import\s*\(?\s*)(['"])([^'"\n]+)\2/g, (whole, start, quote, specifier) => {
      const name = fileNameOf(specifier);
      return name === undefined ? whole : `${start}${quote}./${name}${quote}`;
    });
}

function fileNameOf(specifier: string): string | undefined {
  if (/^(?:preact(?:\/hooks)?|marked)$/.test(specifier)) return libraryFileName(specifier);
  return /^\.{1,2}\/(?:[\w.-]+\/)*([\w-]+)\.[jt]s$/.exec(specifier)?.[1]?.concat('.js');
}

/** A package is served as one file beside the page's own. */
export const libraryFileName = (specifier: string): string => `${specifier.replace('/', '-')}.js`;

/** Node.js warns once that this is new to it; that is no news to whoever looks at a page. */
function withoutTypes(source: string): string {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    return module.stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}

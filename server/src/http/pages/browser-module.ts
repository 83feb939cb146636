import module from 'node:module';

/**
 * Converts a module for browsers: removes types, and rewrites imports to files in the same folder, because all files of a
 * page are served from one path.
 */
export function browserModule(source: string): string {
  return withoutTypes(source)
    .replace(/^\/\/# sourceMappingURL=.*$/m, '')
    .replace(/\b(from\s*|import\s*\(?\s*)(['"])([^'"\n]+)\2/g, (whole, start, quote, specifier) => {
      const name = servedNameOf(specifier);
      return name === undefined ? whole : `${start}${quote}./${name}${quote}`;
    });
}

function servedNameOf(specifier: string): string | undefined {
  if (/^(?:preact(?:\/hooks)?|marked)$/.test(specifier)) return libraryFileName(specifier);
  return /^\.{1,2}\/(?:[\w.-]+\/)*([\w-]+)\.[jt]s$/.exec(specifier)?.[1]?.concat('.js');
}

/** A package is served as one file, next to the files of the page. */
export const libraryFileName = (specifier: string): string => `${specifier.replace('/', '-')}.js`;

/** Node.js warns once that this function is experimental; the warning would confuse users of the console. */
function withoutTypes(source: string): string {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    return module.stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}

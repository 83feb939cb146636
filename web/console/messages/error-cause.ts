/** Deeper nesting than this is not worth the search. */
const depthMax = 10;

/**
 * The message inside of a provider's error: the text itself, or the last text called `message`, `detail` or `error` in
 * JSON or in the notation of Python that follows it, as in `[openai] Error: 429, {'error': {'message': 'Quota exceeded'}}`.
 */
export function causeOf(text: string, depth = 0): string {
  const inner = depth < depthMax ? innerOf(text) : undefined;
  return inner === undefined ? text : causeOf(inner, depth + 1);
}

function innerOf(text: string): string | undefined {
  const begin = text.indexOf('{');
  if (begin < 0) return undefined;
  const named = /["'](?:message|detail|error)["']\s*:\s*(?:"((?:[^"\\]|\\.)+)"|'((?:[^'\\]|\\.)+)')/g;
  const last = [...text.slice(begin).matchAll(named)].at(-1);
  return (last?.[1] ?? last?.[2])?.replaceAll(/\\(["'\\])/g, '$1').replaceAll('\\n', '\n');
}

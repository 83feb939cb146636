import type { ComponentChildren } from 'preact';
import { Button, CopyButton } from './controls.tsx';

type Props = { label: string; text: string; action?: string; isJson?: boolean; children?: ComponentChildren };

/** A text to read and copy. It is focusable, so that it can be scrolled by keyboard. */
export function CodeBlock({ label, text, action = 'Copy', isJson = false, children }: Props) {
  const shown = <code>{isJson ? jsonText(text) : text}</code>;
  return (
    <div class="code">
      <div class="code-head row small">
        {children ?? <span class="soft">{label}</span>}
        <CopyButton text={text} label={action} />
      </div>
      <pre class="strip" tabIndex={0} role="region" aria-label={label}>
        {shown}
      </pre>
    </div>
  );
}

/** The languages of a code block, in its head instead of the label. */
export const languageChoice = <T extends string>(languages: readonly T[], chosen: T, choose: (one: T) => void) => (
  <div class="choice" role="group" aria-label="Language">
    {languages.map((one) => (
      <Button key={one} aria-pressed={one === chosen} onClick={() => choose(one)}>
        {one}
      </Button>
    ))}
  </div>
);

const token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** Each colour is an element: longer responses have none. */
const colouredMax = 60_000;

/** JSON with coloured names and values, as text nodes only. */
function jsonText(text: string): ComponentChildren {
  if (text.length > colouredMax) return text;
  const parts: ComponentChildren[] = [];
  let at = 0;
  for (const match of text.matchAll(token)) {
    const [whole, string, colon] = match;
    const shown = string ?? whole;
    parts.push(text.slice(at, match.index));
    parts.push(<span class={string === undefined ? 'json-word' : colon ? 'json-name' : 'json-text'}>{shown}</span>);
    at = match.index + shown.length;
  }
  return [...parts, text.slice(at)];
}

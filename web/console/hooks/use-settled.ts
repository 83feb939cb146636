import { useEffect, useState } from 'preact/hooks';

/** Time without typing after which a search starts. */
const pauseMillis = 200;

/** A text that is being typed, once it stays the same for a moment. */
export function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), pauseMillis);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

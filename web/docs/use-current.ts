import { useEffect, useState } from '../shared/dom.ts';

/** The id of the part that is being read: the last one whose top has passed the upper third of the window. */
export function useCurrent(ids: readonly string[]): string {
  const [current, setCurrent] = useState('');
  useEffect(() => {
    let frame = 0;
    const see = () => {
      frame = 0;
      const passed = ids.filter(
        (id) => (document.getElementById(id)?.getBoundingClientRect().top ?? 1) < innerHeight / 3,
      );
      setCurrent(passed.at(-1) ?? '');
    };
    const follow = () => {
      frame ||= requestAnimationFrame(see);
    };
    follow();
    addEventListener('scroll', follow, { passive: true });
    return () => {
      removeEventListener('scroll', follow);
      cancelAnimationFrame(frame);
    };
  }, [ids]);
  return current;
}

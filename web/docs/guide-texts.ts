import { useEffect, useState } from 'preact/hooks';

/** A guide of the documentation, in Markdown. */
export type GuideText = { name: string; group: string; title: string; text: string };

/** The address of a guide on this page, or of a heading in it. */
export const guideHref = (name: string, anchor = ''): string => `#guide/${name}${anchor && `/${anchor}`}`;

/** The guide that an address names, and a heading in it. */
export function guideAt(hash: string, guides: readonly GuideText[]): { guide: GuideText; anchor: string } | undefined {
  const [place, name, anchor = ''] = hash.split('/');
  const guide = place === 'guide' ? guides.find((one) => one.name === name) : undefined;
  return guide && { guide, anchor };
}

/** The guides. They are loaded after the reference, which is complete without them. */
export function useGuides(): readonly GuideText[] {
  const [guides, setGuides] = useState<readonly GuideText[]>([]);
  useEffect(() => {
    fetch('/docs/guides.json')
      .then((response) => (response.ok ? response.json() : []))
      .then(setGuides, () => undefined);
  }, []);
  return guides;
}

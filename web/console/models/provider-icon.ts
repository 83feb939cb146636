import { h, useState } from '../../shared/dom.ts';
import { useIsDark } from '../hooks/use-media.ts';
import { localized, secureUrl } from './localized.ts';

type IconProps = { name: string; light: unknown; dark: unknown };

/** The icon of a provider for the current theme; its first letter if there is none or it cannot be loaded. */
export function ProviderIcon({ name, light, dark }: IconProps) {
  const isDark = useIsDark();
  const [failed, setFailed] = useState<string>();
  const url = (isDark ? secureUrl(localized(dark)) : undefined) ?? secureUrl(localized(light));
  // Hidden from screen readers: the name is beside it.
  if (url === undefined || url === failed)
    return h('span', { class: 'provider-icon letter', 'aria-hidden': true }, [...name][0]?.toUpperCase());
  return h('img', {
    class: 'provider-icon',
    src: url,
    alt: '',
    referrerPolicy: 'no-referrer',
    onError: () => setFailed(url),
  });
}

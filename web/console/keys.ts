import { h } from '../shared/dom.ts';
import type { ViewProps } from './route.ts';

export function KeysView({ rest }: ViewProps) {
  return h('h1', { title: rest.join('/') }, 'Keys');
}

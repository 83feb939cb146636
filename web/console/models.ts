import { h } from '../shared/dom.ts';
import type { ViewProps } from './route.ts';

export function ModelsView({ rest }: ViewProps) {
  return h('h1', { title: rest.join('/') }, 'Models');
}

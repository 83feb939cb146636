import type { RouteOptions } from 'fastify';

/** The methods that each path allows, for `Allow`: to Fastify a path with a wrong method does not exist. */
export class RouteTable {
  readonly #routes = new Map<string, { pattern: RegExp; methods: Set<string> }>();

  add({ url, method }: RouteOptions): void {
    let route = this.#routes.get(url);
    if (route === undefined) {
      const pattern = new RegExp(`^${url.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`);
      route = { pattern, methods: new Set() };
      this.#routes.set(url, route);
    }
    for (const one of [method].flat()) route.methods.add(one);
  }

  /** The value of `Allow` for a path; undefined if the path does not exist. */
  allowedMethods(url: string): string | undefined {
    const path = url.split('?', 1)[0] ?? '';
    for (const { pattern, methods } of this.#routes.values()) {
      if (pattern.test(path)) return [...methods].sort().join(', ');
    }
    return undefined;
  }
}

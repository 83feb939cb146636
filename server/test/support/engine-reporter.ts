import type { TestEvent } from 'node:test/reporters';

/** Prints at the end how many tests ran on each engine, which `onEveryEngine` puts in brackets into suite names. */
export default async function* engineReporter(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let suite = '';
  const counts = new Map<string, number>();
  for await (const { type, data } of events) {
    // These events come in the order of declaration, one outermost suite after another.
    if (type === 'test:start' && data.nesting === 0) suite = data.name;
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    if (data.details.type === 'suite') continue;
    const engine = /\[(\w+)\]/.exec(suite)?.[1] ?? 'no particular engine';
    counts.set(engine, (counts.get(engine) ?? 0) + 1);
  }
  yield `\ntests per engine: ${[...counts].map(([engine, count]) => `${count} on ${engine}`).join(', ')}\n`;
}

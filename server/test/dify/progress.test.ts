import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ProgressDisplay } from '../../src/cli/dify/display.ts';
import { followEvents } from '../../src/service/follow-events.ts';

const start = Date.UTC(2026, 10, 17);

it('progress is a line with the time, the total, the rate and the time left every 30 seconds, without a terminal', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: start });
  const lines: string[] = [];
  t.mock.method(process.stdout, 'write', (text: string) => lines.push(text) > 0);
  const display = new ProgressDisplay();
  for (let tenth = 0; tenth <= 650; tenth += 1) {
    t.mock.timers.setTime(start + tenth * 100);
    display.showProgress({ phase: 'importing', done: tenth * 100, total: 120_000 });
  }
  t.mock.timers.setTime(start + 66_000);
  display.showLag({ messages: 1.25, others: 20 }, 3);
  display.showLag({ messages: 1.25, others: 20 }, 4);
  t.mock.timers.setTime(start + 96_000);
  display.showLag({ messages: 2, others: 20 }, 0);
  t.mock.restoreAll();
  assert.deepEqual(lines, [
    '2026-11-17T00:00:30Z importing: 30,000 of 120,000 rows (25 %), 1,000/s, 90 s left\n',
    '2026-11-17T00:01:00Z importing: 60,000 of 120,000 rows (50 %), 1,000/s, 60 s left\n',
    '2026-11-17T00:01:06Z 3 records since the start of following, lag 1.3 s, documents, feedback and deletions 20.0 s\n',
    '2026-11-17T00:01:36Z 7 records since the start of following, lag 2.0 s, documents, feedback and deletions 20.0 s\n',
  ]);
});

it('a service logs the progress every 30 seconds, and when everything is stored', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: start });
  const lines: object[] = [];
  const info = (fields: object, text: string) => lines.push([text, fields]);
  const { begin, progress, complete } = followEvents({ info } as never);
  begin('1', 'full');
  for (let tenth = 0; tenth <= 650; tenth += 1) {
    t.mock.timers.setTime(start + tenth * 100);
    progress({ phase: 'importing', done: tenth * 100, total: 120_000.4 });
  }
  complete(100_000);
  const reading = 'reading the Dify installation';
  assert.deepEqual(lines, [
    [reading, { schema: '1', kind: 'full' }],
    [reading, { phase: 'importing', rows: 30_000, of: 120_000 }],
    [reading, { phase: 'importing', rows: 60_000, of: 120_000 }],
    ['complete: everything of the Dify installation is stored', { messages: 100_000 }],
  ]);
});

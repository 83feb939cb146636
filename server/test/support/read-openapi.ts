import { pino } from 'pino';
import { readConfig } from '../../src/config.ts';
import { LastUsed } from '../../src/domain/last-used.ts';
import type { Store } from '../../src/domain/store.ts';
import { buildApp } from '../../src/http/app.ts';

/** The document as the service gives it; no route that it describes is called, so no store is needed. */
export async function readOpenapi(): Promise<string> {
  const options = {
    store: {} as Store,
    logger: pino({ level: 'silent' }),
    lines: { write: () => undefined },
    clock: Date.now,
    uses: new LastUsed(),
  };
  const app = await buildApp({ ...readConfig({}), ...options });
  const { body } = await app.inject('/openapi.json');
  await app.close();
  return body;
}

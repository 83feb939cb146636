import { pino } from 'pino';
import { readConfig } from '../../../src/config.ts';
import { KeyUses } from '../../../src/domain/keys/key-uses.ts';
import { validateInThread } from '../../../src/domain/records/prepare-lines.ts';
import type { Store } from '../../../src/domain/store/store.ts';
import { buildApp } from '../../../src/http/app.ts';
import { createSharedState } from '../../../src/http/shared-state.ts';

/** The OpenAPI document of the service, as openapi.json has it. No store is needed, because no other route is called. */
export async function readOpenapi(): Promise<string> {
  const options = {
    store: {} as Store,
    logger: pino({ level: 'silent' }),
    lines: { write: () => undefined },
    clock: Date.now,
    uses: new KeyUses(),
    shared: createSharedState(1),
    worker: 0,
    validateLines: validateInThread,
  };
  const app = await buildApp({ ...readConfig({}), ...options });
  const { body } = await app.inject('/openapi.json');
  await app.close();
  return `${JSON.stringify(JSON.parse(body), null, 2)}\n`;
}

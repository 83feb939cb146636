import { readConfig } from '../../src/config.ts';
import { databaseOf } from '../../src/store/open.ts';

/** A database of the product that a test opens itself, without a service. */
export const databaseAt = (url: string, settings: NodeJS.ProcessEnv = {}) =>
  databaseOf(readConfig({ DATABASE_URL: url, ...settings }));

import type { FastifyBaseLogger } from 'fastify';
import { limits } from '../contract/limits.ts';
import type { RunEvents } from '../dify/run.ts';

export function followEvents(logger: FastifyBaseLogger): RunEvents {
  let loggedAt = Date.now();
  return {
    begin: (schema, kind) => logger.info({ schema, kind }, 'reading the Dify installation'),
    progress: ({ phase, done, total }) => {
      if (phase === '' || Date.now() < loggedAt + limits.progressLogMillis) return;
      loggedAt = Date.now();
      logger.info({ phase, rows: Math.round(done), of: total && Math.round(total) }, 'reading the Dify installation');
    },
    complete: (messages) => logger.info({ messages }, 'complete: everything of the Dify installation is stored'),
    difference: ({ kind, id }) => logger.warn({ kind, id }, 'a record differs from the Dify installation'),
    lag: () => undefined,
    warning: (text) => logger.warn(text),
    elsewhere: () => logger.info('another process follows the Dify installation'),
    unavailable: (error) => logger.warn(error?.message ?? 'the Dify database responds again'),
  };
}

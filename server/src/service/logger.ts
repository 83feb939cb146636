import { type Logger, pino } from 'pino';
import type { Config } from '../config.ts';
import type { BufferedLog } from './buffered-log.ts';

export function loggerOf({ log_level }: Config, lines: BufferedLog): Logger {
  return pino({ level: log_level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, lines);
}

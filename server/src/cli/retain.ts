import { type RetainedApp, retain } from '../domain/erasure/retention.ts';
import { underLease } from '../domain/lease.ts';
import { retentionLease } from '../service/retention.ts';
import { type Command, epochSeconds, withStore } from './command.ts';
import { flag, parse } from './options.ts';
import { print, visible } from './output.ts';
import { countOf, describe } from './purge.ts';

export const retainCommand: Command = {
  help: `Usage: backscroll retain [--dry-run]

Permanently erases conversations whose last message is older than the retention period, as the service does every hour. The
period is retention_days of the app, else RETENTION_DAYS, else the last RETENTION_DAYS in force. Conversations on hold stay.

Options:
  --dry-run  print what would be erased, per app, and erase nothing`,

  run: async (argv, config) => {
    const { values } = parse(argv, { 'dry-run': flag }, { max: 0 });
    const isDry = values['dry-run'] === true;
    const { retention_days } = config;
    return withStore(config, 'existing', async (store) => {
      let apps = 0;
      const show = (app: RetainedApp) => {
        apps += 1;
        const { app_id, name, retention_days: days } = app;
        const action = isDry ? 'would erase' : 'erased';
        print(`${action} ${describe(app)} of ${visible(name)} (${app_id}), ${countOf(days, 'day')}`);
      };
      if (isDry) await retain(store, { now: epochSeconds(), isDry, retention_days }, show);
      else {
        if (retention_days !== undefined) await store.run('setRetentionDays', retention_days);
        const run = (signal: AbortSignal) => retain(store, { now: epochSeconds(), signal }, show);
        await underLease(retentionLease(store, Date.now), new AbortController().signal, run);
      }
      if (apps === 0) print('nothing is due');
      return 0;
    });
  },
};

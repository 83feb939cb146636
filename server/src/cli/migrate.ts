import { databaseOf } from '../store/open.ts';
import { type Command, epochSeconds } from './command.ts';
import { flag, parse, print } from './terminal.ts';

export const migrateCommand: Command = {
  help: `Usage: backscroll migrate [--status | --citus]

Brings the database schema up to date. serve does this at every start; use migrate to do it beforehand.

Options:
  --status  only show the schema version and the number of pending steps
  --citus   also distribute the tables over the nodes of a Citus cluster
            (automatic if the extension exists when the tables are created)`,

  run: async (argv, config) => {
    const { values } = parse(argv, { status: flag, citus: flag }, { max: 0 });
    const database = databaseOf(config);
    if (!values.status) {
      const steps = await database.migrate(epochSeconds(), { citus: values.citus === true });
      for (const { version, name } of steps) print(`applied ${version}: ${name}`);
    } else if (!database.exists()) {
      print(`there is no database at ${database.location} yet`);
      return 0;
    }
    const { current, latest, pending, undistributed } = await database.status();
    print(`schema ${current} of ${latest}: ${pending.length === 0 ? 'up to date' : `${pending.length} to apply`}`);
    if (undistributed.length > 0) print(`to distribute: ${undistributed.join(', ')}`);
    return 0;
  },
};

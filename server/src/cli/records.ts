import { createReadStream, createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { recordKinds } from '../contract/record.ts';
import { exportCsv, exportRecords } from '../domain/export/export-records.ts';
import { commandLine } from '../domain/import/check-references.ts';
import { importRecords } from '../domain/import/import-records.ts';
import { isoTime } from '../domain/iso-time.ts';
import { parseKinds } from '../domain/records/parse-kinds.ts';
import type { RecordSource } from '../domain/records/read-lines.ts';
import { exportEvals } from '../domain/reviews/evals.ts';
import { isRestricted, restrictedKinds, selectionOf } from '../domain/store/selection.ts';
import type { ImportProgress } from '../domain/store/store.ts';
import { validateInThreads } from '../service/validation-pool.ts';
import { databaseOf } from '../store/open.ts';
import { regularFile, requireNotDatabase, writeAtomically } from './atomic-file.ts';
import { type Command, epochSeconds, fileError, noteBackup, withStore } from './command.ts';
import { difyHelp } from './dify/help.ts';
import { flag, parse, print, requireOptions, showLine, text, timeOption, Usage } from './terminal.ts';

const readBytes = 524_288;
const progressMillis = 200;

export const importCommand: Command = {
  help: `Usage: backscroll import FILE...

Imports records from NDJSON, one record per line. "-" is standard input.
All or nothing: the first bad line stops the import, the error names it, and nothing of the import is stored.
A record replaces the stored record with the same id. Works while the service runs on the same database.

${difyHelp}`,

  run: async (argv, config) => {
    if (argv.includes('--from-dify')) {
      const { importDify } = await import('./dify/import.ts');
      return importDify(argv, config);
    }
    const { positionals } = parse(argv, {}, { max: Number.POSITIVE_INFINITY });
    if (positionals.length === 0) throw new Usage('import needs a FILE, or - for standard input');
    const sources = positionals.map(
      (file): RecordSource => ({ name: positionals.length > 1 ? file : undefined, bytes: readNamed(file) }),
    );
    const progress = process.stderr.isTTY ? showProgress() : undefined;
    const started = performance.now();
    const { records, erased } = await withStore(config, 'create', (store) =>
      importRecords(store, commandLine, sources, epochSeconds(), {
        validate: validateInThreads,
        progress: progress?.report,
      }),
    ).finally(() => progress?.end());
    print(`imported ${records} ${records === 1 ? 'record' : 'records'} in ${seconds(performance.now() - started)} s`);
    if (erased)
      print(
        `${erased.records} of them were erased here before, the last one on ${isoTime(erased.last_at)}; they are stored again`,
      );
    return 0;
  },
};

const absentWith = {
  records: ['label', 'redact'],
  csv: ['kinds', 'label', 'redact', 'reads'],
  evals: ['kinds', 'user', 'conversation', 'reads'],
} as const;
const isFormat = (format: string): format is keyof typeof absentWith => Object.hasOwn(absentWith, format);

export const exportCommand: Command = {
  help: `Usage: backscroll export [OPTIONS] [FILE]

Writes a consistent snapshot of all records, or of selected ones, to FILE or to standard output. backscroll import can read
it into this database or another one, also of the other engine.
Keys are written as digests, never as secrets. Works while the service runs.

Options:
  --app ID           only this app
  --user U           only conversations of this end user
  --conversation ID  only this conversation
  --from TIME        only messages from this time on: 2026-01-31 (UTC), 2026-01-31T12:00:00Z or seconds
  --to TIME          only messages before this time
  --kinds LIST       only records of these kinds, such as conversation,message
  --reads            with --user, also who has read what this user said: a copy for the user, which cannot be imported
  --format FORMAT    records (default); csv: one row for each message; evals: one test case for each review that is done
  --label LABEL      with evals, only reviews with this label
  --redact           with evals, replace what looks like an e-mail address, phone or card number, IBAN or IP address

With --app, --user, --conversation, --from or --to, the file has the selected conversations and messages with their apps and
workspaces, so that it can be imported. It then never has keys. Deleted conversations are included.`,

  run: async (argv, config) => {
    const selecting = { app: text, user: text, conversation: text, from: text, to: text, kinds: text };
    const others = { format: text, label: text, redact: flag, reads: flag };
    const { values, positionals } = parse(argv, { ...selecting, ...others }, { max: 1 });
    const { app, user, conversation, from, to, kinds, format = 'records', label, redact = false, reads } = values;
    if (!isFormat(format)) throw new Usage(`--format ${format}: must be ${Object.keys(absentWith).join(', ')}`);
    for (const name of absentWith[format]) {
      if (values[name] !== undefined) throw new Usage(`--${name} must be absent with --format ${format}`);
    }
    if (reads && user === undefined) throw new Usage('--reads requires --user');
    const selection = selectionOf({
      app_id: app,
      user,
      conversation_id: conversation,
      from: from === undefined ? undefined : timeOption('--from', from),
      to: to === undefined ? undefined : timeOption('--to', to),
    });
    const recordSelection = { ...selection, kinds: requireOptions(() => parseKinds(kinds, recordKinds)) };
    if (isRestricted(selection)) requireOptions(() => restrictedKinds(recordSelection));
    const [file] = positionals;
    await withStore(config, 'existing', async (store) => {
      const { signal } = new AbortController();
      const { chunks } = await {
        records: () => exportRecords(store, recordSelection, signal, reads),
        csv: () => exportCsv(store, selection, signal),
        evals: () => exportEvals(store, { ...selection, label }, redact, signal),
      }[format]();
      const records = Readable.from(chunks);
      if (file === undefined || file === '-') await pipeline(records, process.stdout, { end: false });
      else await writeRecords(file, records, databaseOf(config).files);
      // A part of the records is no backup.
      if (Object.keys(values).length === 0) await noteBackup(store, { kind: 'export' });
    });
    return 0;
  },
};

/** Pipes and devices are written to directly. */
async function writeRecords(given: string, records: Readable, databaseFiles: readonly string[]): Promise<void> {
  const file = await regularFile(given);
  if (file === undefined) return pipeline(records, createWriteStream(given));
  await requireNotDatabase(file, databaseFiles);
  await writeAtomically(file, (path) => pipeline(records, createWriteStream(path)));
}

/** Reads a file, or standard input. Errors name the file. */
async function* readNamed(file: string): AsyncGenerator<Uint8Array> {
  try {
    yield* file === '-' ? process.stdin : createReadStream(file, { highWaterMark: readBytes });
  } catch (error) {
    throw fileError(file, error);
  }
}

const seconds = (millis: number): string => (millis / 1000).toFixed(1);

function showProgress(): { report: ImportProgress; end: () => void } {
  const started = performance.now();
  let phaseStarted = started;
  let phase = '';
  let last = 0;
  return {
    report: (now, records) => {
      const time = performance.now();
      if (now !== phase) {
        phase = now;
        phaseStarted = time;
      } else if (time - last < progressMillis) return;
      last = time;
      const rate = Math.round(records / Math.max(0.001, (time - phaseStarted) / 1000));
      showLine(
        `${phase} ${records.toLocaleString('en')} records, ${rate.toLocaleString('en')}/s, ${seconds(time - started)} s`,
      );
    },
    end: () => showLine(''),
  };
}

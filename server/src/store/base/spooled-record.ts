import type { RecordKind } from '../../contract/record.ts';
import type { Prepared } from '../../domain/records/prepared-record.ts';

/** A record read from the spool: a message has its text. */
export type SpooledRecord = { [K in RecordKind]: SpooledOf<K> }[RecordKind];
export type SpooledOf<K extends RecordKind> = K extends 'message' ? Prepared<K> & { doc: Buffer } : Prepared<K>;

import {
  constantsOf,
  KnowledgeBase,
  KnowledgeDocument,
  KnowledgeSegment,
  type MetadataMode,
  SingleDocument,
} from '../../contract/knowledge.ts';
import type { DatasetRow, DatasetTotals, DocumentRow, SegmentRow } from '../store/knowledge-reads.ts';

/** Renders rows as the objects of `contract/knowledge.ts`: its fields, in its order, with its constants. */

type Fields = Record<string, unknown>;
type Shape = { properties: Record<string, object> };

/** The fields of a shape, each from the values, or else its constant. */
function render({ properties }: Shape, values: Fields): Fields {
  const fields = Object.entries(properties);
  return Object.fromEntries(
    fields.map(([name, field]) => [
      name,
      values[name] === undefined && 'default' in field ? field.default : values[name],
    ]),
  );
}

const baseConstants = constantsOf(KnowledgeBase);

/** `settings` replaces constants, never fields of the record or computed ones. */
export function renderBase(row: DatasetRow, totals: DatasetTotals | undefined): Fields {
  const { settings, workspace_id, ...fields } = row;
  const constants = mergeOver({ ...baseConstants, created_by: workspace_id }, settings ?? {});
  const { documents = 0, available = 0, words = 0 } = totals ?? {};
  const counts = {
    document_count: documents,
    word_count: words,
    total_documents: documents,
    total_available_documents: available,
  };
  return render(KnowledgeBase, { ...constants, ...fields, ...counts });
}

/** Objects are merged field by field, so that they stay complete. Fields that are not constants are left out. */
function mergeOver(constants: Fields, settings: Fields): Fields {
  return Object.fromEntries(
    Object.entries(constants).map(([name, constant]) => {
      const setting = Object.hasOwn(settings, name) ? settings[name] : undefined;
      if (setting === undefined) return [name, constant];
      return [name, isObject(constant) && isObject(setting) ? mergeOver(constant, setting) : setting];
    }),
  );
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Null in the record means that nothing is known: the constant. */
const withoutNull = <R extends Fields>({ data_source_info, ...row }: R): Fields =>
  data_source_info === null ? row : { ...row, data_source_info };

export const renderDocument = (row: DocumentRow, workspace_id: string): Fields =>
  render(KnowledgeDocument, { ...withoutNull(row), created_by: row.created_by ?? workspace_id });

export function renderSingleDocument(row: DocumentRow, workspace_id: string, metadata: MetadataMode): Fields {
  const { segment_count, word_count } = row;
  const average_segment_length = segment_count === 0 ? 0 : Math.floor(word_count / segment_count);
  const created_by = row.created_by ?? workspace_id;
  const document = render(SingleDocument, { ...withoutNull(row), created_by, average_segment_length });
  const { id, doc_type, doc_metadata, ...rest } = document;
  if (metadata === 'only') return { id, doc_type, doc_metadata };
  return metadata === 'without' ? { id, ...rest } : document;
}

/** The JSON text of a segment before and after the texts of its child chunks, which may be many. */
export function renderSegment(row: SegmentRow, workspace_id: string): { before: string; after: string } {
  const segment = render(KnowledgeSegment, { ...row, created_by: row.created_by ?? workspace_id, child_chunks: [] });
  const { attachments, summary, ...start } = segment;
  return {
    // Without the end of the empty list, and of the object.
    before: JSON.stringify(start).slice(0, -']}'.length),
    after: `],${JSON.stringify({ attachments, summary }).slice(1)}`,
  };
}

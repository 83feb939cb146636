import { isAbsent, isUuidText, type OpenObject } from '../map/json.ts';
import { withoutSlash } from '../map/links.ts';
import type { PartsOf, RecordMapper } from '../map/record-mapper.ts';
import type { DifySource, PartRow, Row } from '../source.ts';
import { columns, readParts } from './selection.ts';

/** A row of `message_files`, with its row of `upload_files`. */
type FileRow = PartRow & { type: string; transfer_method: string; url: string | null; upload_file_id: string | null };
type ToolFiles = ReadonlyMap<string, Row>;

export async function readFiles(source: DifySource, messageIds: readonly string[]): Promise<PartsOf> {
  const files = await readParts<FileRow>(source, ['message_files', 'upload_files'], selectFiles, messageIds);
  const toolFiles = await readToolFiles(source, [...files.values()].flat());
  return ({ id, workspace_id }, mapper) =>
    mapper.parts('message_files', files.get(id), (row, path) => mapFile(mapper, row, path, workspace_id, toolFiles));
}

/**
 * The files of a message are usually inserted together and have equal times; the source returns them in the order of
 * insertion. Their ids are random, so the place of the row decides.
 */
const selectFiles = `
  SELECT f.id, f.message_id, f.type, f.transfer_method, f.url, f.belongs_to, f.upload_file_id, u.id AS upload_id,
    u.name AS upload_name, u.size AS upload_size, u.mime_type AS upload_type, u.tenant_id AS upload_workspace_id
  FROM message_files f LEFT JOIN upload_files u ON u.id = f.upload_file_id
  WHERE f.message_id = ANY($1::uuid[]) ORDER BY f.created_at, f.ctid`;

async function readToolFiles(source: DifySource, files: readonly FileRow[]): Promise<ToolFiles> {
  const ids = new Set(files.flatMap((file) => toolFileId(file) ?? []));
  if (ids.size === 0 || !source.has('tool_files')) return new Map();
  const rows = await source.query<Row>(
    `SELECT f.id, f.tenant_id, f.mimetype, ${columns(source, 'tool_files', 'f', ['name', 'size'])}
     FROM tool_files f WHERE f.id = ANY($1::uuid[])`,
    [[...ids]],
  );
  return new Map(rows.map((row) => [row.id, row]));
}

/** The id of a tool file: a column, or in older rows the name of the file in its URL. */
function toolFileId({ transfer_method, upload_file_id, url }: FileRow): string | undefined {
  if (transfer_method !== 'tool_file') return undefined;
  const id = upload_file_id ?? lastSegment(url ?? '').split('.')[0];
  return isUuidText(id) ? id.toLowerCase() : undefined;
}

/** Undefined if the file cannot be imported: then it is listed. */
function mapFile(
  mapper: RecordMapper,
  row: FileRow,
  path: string,
  workspaceId: string,
  toolFiles: ToolFiles,
): OpenObject | undefined {
  const { id, type, transfer_method, belongs_to, upload_file_id } = row;
  const url = row.url ?? '';
  const file = { id, filename: '', type, url: null, mime_type: null, size: null, transfer_method, belongs_to };
  const address = (tail: string): string | null =>
    mapper.filesBase === undefined ? null : `${withoutSlash(mapper.filesBase)}/files/${tail}`;
  const upload = row.upload_workspace_id === workspaceId && {
    ...file,
    ...{ filename: row.upload_name ?? '', mime_type: row.upload_type, size: sizeOf(row.upload_size), upload_file_id },
  };
  switch (transfer_method) {
    case 'local_file':
      if (!upload) return mapper.skip(path, 'upload file missing');
      return { ...upload, url: address(`${row.upload_id}/file-preview`) };
    case 'tool_file': {
      const tool = toolFiles.get(toolFileId(row) ?? '');
      if (tool?.tenant_id !== workspaceId) return mapper.skip(path, 'tool file missing');
      const filename = isAbsent(tool.name) ? nameInUrl(url) : `${tool.name}`;
      return {
        ...file,
        filename,
        url: address(`tools/${tool.id}${/\.\w+$/.exec(filename)?.[0] ?? '.bin'}`),
        mime_type: tool.mimetype,
        size: sizeOf(tool.size),
        upload_file_id: tool.id,
      };
    }
    case 'remote_url':
      if (url === '') return mapper.skip(path, 'remote file without URL');
      return { ...(upload || { ...file, filename: nameInUrl(url), upload_file_id: null }), url: mapper.text(url) };
    default:
      return mapper.skip(path, `transfer method ${transfer_method}`);
  }
}

/** The source writes −1 if the size is not known. */
const sizeOf = (size: unknown): number | null => (typeof size === 'number' && size >= 0 ? size : null);

const lastSegment = (url: string): string => url.split(/[?#]/, 1)[0]?.split('/').at(-1) ?? '';

/** The name of a file in its URL; empty if the URL has none. */
function nameInUrl(url: string): string {
  if (!/^(?:https?:\/\/[^/]+)?\/./i.test(url)) return '';
  const name = lastSegment(url);
  try {
    return decodeURIComponent(name).replaceAll('\0', '');
  } catch {
    return name;
  }
}

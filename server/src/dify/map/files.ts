import { isAbsent, isUuidText, type OpenObject } from './json.ts';
import { withoutSlash } from './links.ts';
import type { RecordMapper } from './record-mapper.ts';

/** A row of `message_files`, with its row of `upload_files`, if the upload belongs to the same workspace. */
export type FileRow = {
  id: string;
  message_id: string;
  type: string;
  transfer_method: string;
  url: string | null;
  belongs_to: string | null;
  upload_file_id: string | null;
  upload_id: string | null;
  upload_name: string | null;
  upload_size: number | null;
  upload_type: string | null;
  upload_workspace_id: string | null;
};

export type ToolFile = {
  id: string;
  name: string | null;
  mimetype: string | null;
  size: number | null;
  workspace_id: string;
};

/** The id of a tool file: a column, or in older rows the name of the file in its URL. */
export function toolFileId({ transfer_method, upload_file_id, url }: FileRow): string | undefined {
  if (transfer_method !== 'tool_file') return undefined;
  const id = upload_file_id ?? lastSegment(url ?? '').split('.')[0];
  return isUuidText(id) ? id.toLowerCase() : undefined;
}

/** Undefined if the file cannot be imported: then it is listed. */
export function mapFile(
  row: FileRow,
  path: string,
  { mapper, workspaceId, toolFiles }: FileContext,
): OpenObject | undefined {
  const { id, type, transfer_method, belongs_to } = row;
  const file = { id, filename: '', type, url: null, mime_type: null, size: null, transfer_method, belongs_to };
  const upload = row.upload_workspace_id === workspaceId ? row : undefined;
  const skip = (reason: string): undefined => mapper.skip(path, reason) as undefined;
  const address = (tail: string): string | null =>
    mapper.filesBase === undefined ? null : `${withoutSlash(mapper.filesBase)}/files/${tail}`;
  const fromUpload = { filename: row.upload_name ?? '', mime_type: row.upload_type, size: sizeOf(row.upload_size) };

  if (transfer_method === 'local_file') {
    if (upload === undefined) return skip('upload file missing');
    return {
      ...file,
      ...fromUpload,
      url: address(`${row.upload_id}/file-preview`),
      upload_file_id: row.upload_file_id,
    };
  }
  if (transfer_method === 'tool_file') {
    const tool = toolFiles.get(toolFileId(row) ?? '');
    if (tool?.workspace_id !== workspaceId) return skip('tool file missing');
    const filename = isAbsent(tool.name) ? nameInUrl(row.url ?? '') : tool.name;
    return {
      ...file,
      filename,
      url: address(`tools/${tool.id}${/\.\w+$/.exec(filename)?.[0] ?? '.bin'}`),
      mime_type: tool.mimetype,
      size: sizeOf(tool.size),
      upload_file_id: tool.id,
    };
  }
  if (transfer_method === 'remote_url') {
    if (isAbsent(row.url)) return skip('remote file without URL');
    const url = mapper.text(row.url);
    if (upload !== undefined) return { ...file, ...fromUpload, url, upload_file_id: row.upload_file_id };
    return { ...file, filename: nameInUrl(row.url), url, upload_file_id: null };
  }
  return skip(`transfer method ${transfer_method}`);
}

export type FileContext = {
  mapper: RecordMapper;
  workspaceId: string;
  toolFiles: ReadonlyMap<string, ToolFile>;
};

/** The source writes −1 if the size is not known. */
const sizeOf = (size: number | null): number | null => (size !== null && size >= 0 ? size : null);

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

import type { NewKey } from '../contract/admin.ts';
import type { KeyWanted } from './create-key.ts';
import { invalidParam } from './errors.ts';

/** What a new key is to open, of what was given; throws where that does not fit together. */
export function validateNewKey(given: NewKey, now: number): KeyWanted {
  const { kind, name = '', app_id = null, workspace_id = null, dataset_ids = null, expires_at = null } = given;
  if (!name.isWellFormed()) throw invalidParam('name must be well-formed Unicode');
  if (name.includes('\0')) throw invalidParam('name must not contain NUL');
  if (expires_at !== null && expires_at <= now) throw invalidParam('expires_at must be in the future');
  const refuse = (field: string, value: unknown) => {
    if (value !== null) throw invalidParam(`${field} does not go with kind ${kind}`);
  };
  const require = (field: string, value: string | null): string => {
    if (value === null) throw invalidParam(`${field} is required for kind ${kind}`);
    return value;
  };
  if (kind !== 'knowledge') {
    refuse('workspace_id', workspace_id);
    refuse('dataset_ids', dataset_ids);
  }
  if (kind === 'app' || kind === 'writer') return { kind, name, expires_at, app_id: require('app_id', app_id) };
  refuse('app_id', app_id);
  if (kind === 'admin') return { kind, name, expires_at };
  return { kind, name, expires_at, workspace_id: require('workspace_id', workspace_id), dataset_ids };
}

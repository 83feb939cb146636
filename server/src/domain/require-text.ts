import { notBlank } from '../contract/rules.ts';
import { invalidParam } from './errors.ts';

/** Throws if a field cannot be stored and returned unchanged, or is too long. */
export function requireText(field: string, text: string, unitsMax = Number.POSITIVE_INFINITY): void {
  if (text.length > unitsMax) throw invalidParam(`${field} must not have more than ${unitsMax} characters`);
  if (!text.isWellFormed()) throw invalidParam(`${field} must be well-formed Unicode`);
  if (text.includes('\0')) throw invalidParam(`${field} must not contain NUL`);
}

export function requireNotBlank(field: string, text: string): void {
  if (!notBlank.test(text)) throw invalidParam(`${field} must not be blank`);
}

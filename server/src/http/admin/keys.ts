import { CreatedKey, DescribedNewKey, KeyChange, KeyWithRequests, ListedKey, NewKey } from '../../contract/admin.ts';
import { PersonChange, PersonListed } from '../../contract/people/people.ts';
import { Type } from '../../contract/type.ts';
import { createKey, revokeKey, rotateKey, updateKey } from '../../domain/keys/create-key.ts';
import { withRequests } from '../../domain/keys/key-uses.ts';
import { Paging } from '../../domain/paging.ts';
import { changePerson, listPeople } from '../../domain/people/people.ts';
import { operation } from '../operation.ts';
import { validatorCompiler } from '../request/query.ts';
import { together } from '../route-types.ts';
import { adminPage } from './routes.ts';

const keys = new Paging<ListedKey>(['number', 'string'], ({ created_at, id }) => [created_at, id]);
const url = '/admin/keys';
const params = Type.Object({ key_id: Type.String({ description: 'Key ID.' }) });
const peopleUrl = '/admin/people';
const PersonPath = Type.Object({ person_id: Type.String({ description: 'Person ID.' }) });

/** API keys, and people who signed in by name. */
export const adminKeyRoutes = together(
  adminPage('listKeys', url, {
    summary: 'List keys',
    description: 'All keys, newest first, without their secrets, and with the number of their recent requests.',
    row: KeyWithRequests,
    errors: [403],
    run: async ({ query, now, store }) => {
      const page = await keys.read(query, (range) => store.admin.listKeys(range));
      return { ...page, data: await withRequests(store, page.data, now * 1000) };
    },
  }),
  operation('createKey', ['admin'], 'POST', url, {
    summary: 'Create a key',
    description: 'Creates a key. Its secret is only in this response, and cannot be read again.',
    body: DescribedNewKey,
    validatorCompiler: (part) => validatorCompiler({ ...part, schema: NewKey }),
    status: 201,
    response: CreatedKey,
    run: ({ body, caller, now, store }) => createKey(store, body, { key_id: caller.key_id, now }),
  }),
  operation('updateKey', ['admin'], 'PATCH', `${url}/:key_id`, {
    summary: 'Change a key',
    description:
      'Renames a key; makes a key of kind app, knowledge or admin read-only, or allows it to write again; or gives an admin key another role. ' +
      'No key changes its own role.',
    params,
    body: KeyChange,
    response: ListedKey,
    run: ({ params, body, caller, now, store }) =>
      updateKey(store, params.key_id, body, { key_id: caller.key_id, now }),
  }),
  operation('rotateKey', ['admin'], 'POST', `${url}/:key_id/rotate`, {
    summary: 'Rotate a key',
    description:
      'Creates a key that allows the same, and lasts as long; the old key ends after 24 hours, or earlier if it expires before. ' +
      'The new secret is only in this response.',
    params,
    status: 201,
    response: CreatedKey,
    errors: [400, 404],
    run: ({ params, caller, now, store }) => rotateKey(store, params.key_id, { key_id: caller.key_id, now }),
  }),
  operation('revokeKey', ['admin'], 'DELETE', `${url}/:key_id`, {
    summary: 'Revoke a key',
    description:
      'Revokes a key and ends the console sessions that were created with it. Revoking it again changes nothing.',
    params,
    response: ListedKey,
    run: ({ params, caller, now, store }) => revokeKey(store, params.key_id, { key_id: caller.key_id, now }),
  }),
  adminPage('listPeople', peopleUrl, {
    summary: 'List people',
    description: 'The people who signed in by name, sorted by name.',
    row: PersonListed,
    errors: [403],
    run: ({ query, now, store }) => listPeople(store, query, now),
  }),
  operation('updatePerson', ['admin'], 'PATCH', `${peopleUrl}/:person_id`, {
    summary: 'Block a person',
    description:
      'Blocks a person and ends the sessions, or allows a person to sign in again. No one blocks themselves.',
    params: PersonPath,
    body: PersonChange,
    response: PersonListed,
    run: ({ params: { person_id }, body: { blocked }, caller, now, store }) =>
      changePerson(store, { person_id, blocked, by: caller.key_id, now }),
  }),
  operation('endPersonSessions', ['admin'], 'DELETE', `${peopleUrl}/:person_id/sessions`, {
    summary: 'Sign a person out',
    description: 'Ends the sessions of a person. The role is read again at the next sign-in.',
    params: PersonPath,
    response: PersonListed,
    run: ({ params: { person_id }, caller, now, store }) => changePerson(store, { person_id, by: caller.key_id, now }),
  }),
);

import { PersonChange, PersonListed } from '../../contract/people/people.ts';
import { Type } from '../../contract/type.ts';
import { changePerson, listPeople } from '../../domain/people/people.ts';
import { operation } from '../operation.ts';
import { together } from '../route-types.ts';
import { adminPage } from './routes.ts';

const url = '/admin/people';
const params = Type.Object({ person_id: Type.String({ description: 'Person ID.' }) });

/** People who signed in by name. */
export const adminPeopleRoutes = together(
  adminPage({
    url,
    operationId: 'listPeople',
    summary: 'List people',
    description: 'The people who signed in by name, sorted by name.',
    row: PersonListed,
    errors: [403],
    run: ({ query, now, store }) => listPeople(store, query, now),
  }),
  operation(['admin'], {
    method: 'PATCH',
    url: `${url}/:person_id`,
    operationId: 'updatePerson',
    summary: 'Block a person',
    description:
      'Blocks a person and ends the sessions, or allows a person to sign in again. No one blocks themselves.',
    params,
    body: PersonChange,
    response: PersonListed,
    run: ({ params: { person_id }, body: { blocked }, caller, now, store }) =>
      changePerson(store, { person_id, blocked, by: caller.key_id, now }),
  }),
  operation(['admin'], {
    method: 'DELETE',
    url: `${url}/:person_id/sessions`,
    operationId: 'endPersonSessions',
    summary: 'Sign a person out',
    description: 'Ends the sessions of a person. The role is read again at the next sign-in.',
    params,
    response: PersonListed,
    run: ({ params: { person_id }, caller, now, store }) => changePerson(store, { person_id, by: caller.key_id, now }),
  }),
);

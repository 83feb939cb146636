import { PersonChange, PersonListed } from '../../contract/people/people.ts';
import { Type } from '../../contract/type.ts';
import { changePerson, listPeople } from '../../domain/people/people.ts';
import { addOperation } from '../operation.ts';
import type { Routes } from '../route-types.ts';
import { adminList } from './routes.ts';

const url = '/admin/people';

/** People who signed in by name. */
export const adminPeopleRoutes: Routes = (app, dependencies) => {
  const { store } = dependencies;
  const params = Type.Object({ person_id: Type.String({ description: 'Person ID.' }) });

  adminList(app, dependencies, {
    url,
    operationId: 'listPeople',
    summary: 'List people',
    description: 'The people who signed in by name, sorted by name.',
    row: PersonListed,
    errors: [403],
    run: ({ query, now }) => listPeople(store, query, now),
  });

  addOperation(app, dependencies, ['admin'], {
    method: 'PATCH',
    url: `${url}/:person_id`,
    operationId: 'updatePerson',
    summary: 'Block a person',
    description:
      'Blocks a person and ends the sessions, or allows a person to sign in again. No one blocks themselves.',
    params,
    body: PersonChange,
    response: PersonListed,
    errors: [404],
    run: ({ params: { person_id }, body: { blocked }, caller, now }) =>
      changePerson(store, { person_id, blocked, by: caller.key_id, now }),
  });

  addOperation(app, dependencies, ['admin'], {
    method: 'DELETE',
    url: `${url}/:person_id/sessions`,
    operationId: 'endPersonSessions',
    summary: 'Sign a person out',
    description: 'Ends the sessions of a person. The role is read again at the next sign-in.',
    params,
    response: PersonListed,
    errors: [404],
    run: ({ params: { person_id }, caller, now }) => changePerson(store, { person_id, by: caller.key_id, now }),
  });
};

import { PersonChange, PersonListed } from '../../contract/people/people.ts';
import { Type } from '../../contract/type.ts';
import { changePerson, listPeople } from '../../domain/people/people.ts';
import { requireCaller } from '../auth/bearer.ts';
import { aboutAdmin, responses } from '../openapi/openapi.ts';
import { requireContentType } from '../request/body.ts';
import type { Routes } from '../route-types.ts';
import { adminList } from './routes.ts';

const url = '/admin/people';

/** People who signed in by name. */
export const adminPeopleRoutes: Routes = (app, dependencies) => {
  const { store, bearer, clock } = dependencies;
  const requireAdmin = bearer.requireAdmin();
  const seconds = () => Math.floor(clock() / 1000);
  const params = Type.Object({ person_id: Type.String({ description: 'Person ID.' }) });

  adminList(app, dependencies, {
    url,
    operationId: 'listPeople',
    summary: 'List people',
    description: 'The people who signed in by name, sorted by name.',
    row: PersonListed,
    errors: [403],
    read: ({ query }) => listPeople(store, query, seconds()),
  });

  app.route({
    method: 'PATCH',
    url: `${url}/:person_id`,
    schema: {
      ...aboutAdmin,
      operationId: 'updatePerson',
      summary: 'Block a person',
      description:
        'Blocks a person and ends the sessions, or allows a person to sign in again. No one blocks themselves.',
      params,
      body: PersonChange,
      response: responses({ 200: PersonListed }, [400, 401, 403, 404, 408, 413, 415]),
    },
    onRequest: [requireAdmin, requireContentType('application/json')],
    handler: (request) => {
      const { params, body } = request;
      const by = requireCaller(request, 'admin').key_id;
      return changePerson(store, { person_id: params.person_id, blocked: body.blocked, by, now: seconds() });
    },
  });

  app.route({
    method: 'DELETE',
    url: `${url}/:person_id/sessions`,
    schema: {
      ...aboutAdmin,
      operationId: 'endPersonSessions',
      summary: 'Sign a person out',
      description: 'Ends the sessions of a person. The role is read again at the next sign-in.',
      params,
      response: responses({ 200: PersonListed }, [401, 403, 404]),
    },
    onRequest: requireAdmin,
    handler: (request) => {
      const by = requireCaller(request, 'admin').key_id;
      return changePerson(store, { person_id: request.params.person_id, by, now: seconds() });
    },
  });
};

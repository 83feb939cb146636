import { SavedView, ViewAddress, ViewName } from '../../contract/console/saved-views.ts';
import { invalidParam } from '../../domain/errors.ts';
import { Paging } from '../../domain/paging.ts';
import { operation } from '../operation.ts';
import { together } from '../route-types.ts';
import { adminPage } from './routes.ts';

const views = new Paging<SavedView>(['string'], ({ name }) => [name]);

/** Names for addresses of the console. */
export const adminSavedViewRoutes = together(
  adminPage('listSavedViews', '/admin/views', {
    summary: 'List saved views',
    description: 'Names for addresses of the console, by name.',
    row: SavedView,
    run: ({ query, store }) => views.read(query, (range) => store.admin.listSavedViews(range)),
  }),
  operation('saveView', ['admin'], 'PUT', '/admin/views/:name', {
    summary: 'Save a view',
    description: 'Stores an address of the console under a name, in place of an earlier one.',
    params: ViewName,
    body: ViewAddress,
    response: SavedView,
    errors: [],
    run: async ({ params: { name }, body: { address }, store }) => {
      if (!`${name}${address}`.isWellFormed()) throw invalidParam('name and address must be well-formed Unicode');
      await store.run('saveView', { name, address });
      return { name, address };
    },
  }),
  operation('deleteView', ['admin'], 'DELETE', '/admin/views/:name', {
    summary: 'Delete a saved view',
    description: 'Forgets the name. A name that does not exist is no error.',
    params: ViewName,
    response: 'The name is not stored any more.',
    errors: [400],
    run: async ({ params: { name }, store }) => {
      if (name.isWellFormed()) await store.run('saveView', { name, address: null });
    },
  }),
);

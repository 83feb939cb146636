import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import { makeSecret } from '../../src/domain/secret.ts';
import {
  checkAccessibilityOfVariant,
  checkInBothThemes,
  clickCopy,
  delayEffects,
  openBrowser,
  openTab,
  pressShortcut,
  signIn,
} from '../support/browser.ts';
import { makeTwoTenants, message, ndjson, type Service, startService } from '../support/harness.ts';
import { itLong } from '../support/long.ts';
import { untilEqual } from '../support/until.ts';

describe('keys in the console', () => {
  const { one, other, admin, records } = makeTwoTenants();
  const second = randomUUID();
  const shelves = Array.from({ length: 7 }, () => randomUUID());
  let service: Service;
  let browser: Browser;
  let page: Page;
  let pageErrors: string[];

  before(async () => {
    [service, browser] = await Promise.all([startService('sqlite'), openBrowser()]);
    const workspace_id = one.ids.workspace;
    // More apps than one page of the list, and one whose name comes last.
    const apps = Array.from({ length: 120 }, (_, n) => ({ id: randomUUID(), name: `bot ${n}` }));
    await service.load([
      ...records,
      { record: 'workspace', id: workspace_id, name: 'Harbour Coffee' },
      ...apps.map((app) => ({ record: 'app', workspace_id, mode: 'workflow', ...app })),
      { record: 'app', id: one.ids.app, workspace_id, name: 'the help desk', mode: 'chat' },
      { record: 'dataset', id: one.ids.dataset, workspace_id, name: 'Handbook' },
      { record: 'dataset', id: second, workspace_id, name: 'Recipes' },
      ...shelves.map((id, n) => ({ record: 'dataset', id, workspace_id, name: `Shelf ${n}` })),
      message(one.ids.conversation, 2000),
      {
        record: 'api_key',
        kind: 'knowledge',
        name: 'librarian',
        workspace_id,
        dataset_ids: shelves,
        secret: makeSecret('knowledge'),
      },
      {
        record: 'api_key',
        kind: 'app',
        name: 'an old one',
        workspace_id,
        app_id: one.ids.app,
        secret: makeSecret('app'),
        expires_at: 9,
      },
    ]);
    ({ page, pageErrors } = await openTab(browser, service.base));
    await signIn(page, admin, '/console#/keys');
    await row('an old one').waitFor();
  });
  after(async () => {
    await browser.close();
    await service.close();
  });

  const row = (name: string): Locator => page.getByRole('row').filter({ hasText: name });
  const dialog = () => page.getByRole('dialog');
  /** Opens the menu of a key, and presses one of its entries. */
  const act = async (of: Locator, entry: string | RegExp): Promise<void> => {
    await of.getByRole('button', { name: /^Actions of/ }).click();
    await of.getByRole('button', { name: entry }).click();
  };

  /** Opens the form and fills in what all kinds have. */
  async function beginKey(kind: string, name: string): Promise<void> {
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByRole('radio', { name: new RegExp(`^${kind}`, 'i') }).check();
    await page.getByLabel('Name', { exact: true }).fill(name);
  }

  async function chooseApp(): Promise<void> {
    await page.getByLabel('Search app').fill('help d');
    await page.getByRole('combobox', { name: 'App' }).selectOption({ label: 'the help desk · Harbour Coffee' });
  }

  /** Sends the form; gives the secret and the command, closes the dialog and looks whether any of it is left. */
  async function takeSecret(): Promise<{ secret: string; headers: Record<string, string>; path: string }> {
    await page.getByRole('button', { name: 'Create the key' }).click();
    await page.getByText('It is shown only once').waitFor();
    const [secret = '', command = ''] = await dialog().locator('code').allTextContents();
    assert.match(secret, /^(app|dataset|writer|feed|admin)-[\w-]{40}$/);
    await clickCopy(dialog(), 'Copy secret');
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await dialog().waitFor({ state: 'detached' });
    assert.equal((await page.content()).includes(secret), false);
    const stored = await page.evaluate<string>(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href])',
    );
    assert.equal(stored.includes(secret), false);
    const [, name = '', value = ''] = /-H '(Authorization): ([^']+)'/.exec(command) ?? [];
    const [, base, path = ''] = /(http:\/\/[^/]+)(\/[^' ]+)/.exec(command) ?? [];
    assert.equal(base, service.base);
    return { secret, headers: { [name]: value }, path };
  }

  /** Those of one second come in any order. */
  const keyNamed = async (name: string): Promise<{ expires_at: number }> => {
    const { data } = (await service.request('GET', '/admin/keys?limit=100', { key: admin })).body;
    return data.find((key: { name: string }) => key.name === name);
  };

  it('an app key is created by the name of its app, and the example command works', async () => {
    await beginKey('app', 'shop window');
    await chooseApp();
    await page.getByRole('combobox', { name: 'Expires' }).selectOption('In 30 days');
    const found = page.waitForResponse(/\/admin\/conversations\?/);
    const { headers, path } = await takeSecret();
    assert.equal((await found).status(), 200);
    const response = await service.request('GET', path, { headers });
    assert.equal(response.status, 200);
    assert.equal(response.body.data.length, 1, path);
    await row('shop window').getByText('the help desk').waitFor();
    const { expires_at } = await keyNamed('shop window');
    assert.ok(Math.abs(expires_at - Date.now() / 1000 - 30 * 86_400) < 600);
  });

  it('a knowledge key is limited to the chosen datasets', async () => {
    await beginKey('knowledge', 'editors');
    await page.getByRole('combobox', { name: 'Workspace' }).selectOption({ label: 'Harbour Coffee' });
    await page.getByLabel('Only some datasets').check();
    // None is not some.
    await page.getByRole('button', { name: 'Create the key' }).click();
    await page.getByLabel('Handbook').check();
    const { secret, headers, path } = await takeSecret();
    assert.equal((await service.request('GET', path, { headers })).status, 200);
    assert.equal((await service.request('GET', one.chunkPath, { key: secret })).status, 200);
    assert.equal((await service.request('GET', other.chunkPath, { key: secret })).status, 404);
    await row('editors').getByText('dataset Handbook').waitFor();
  });

  it('a key is created read-only, and then changed to read-write and back', async () => {
    await beginKey('writer', 'reader');
    assert.equal(await page.getByRole('checkbox', { name: 'Read-only' }).count(), 0);
    await page.getByRole('radio', { name: /^app/i }).check();
    await chooseApp();
    await page.getByRole('checkbox', { name: 'Read-only' }).check();
    const { secret } = await takeSecret();
    const rename = async () => {
      const path = `/v1/conversations/${one.ids.conversation}/name`;
      return (await service.request('POST', path, { key: secret, body: { name: 'New' } })).status;
    };
    const badge = row('reader').locator('.badge', { hasText: 'read-only' });
    await badge.waitFor();
    assert.equal(await rename(), 403);
    await act(row('reader'), 'Allow writes: reader');
    await page.getByText('reader is now read-write.').waitFor();
    await badge.waitFor({ state: 'detached' });
    assert.equal(await rename(), 200);
    await act(row('reader'), /^Make read-only.*reader$/);
    await page.getByText('reader is now read-only.').waitFor();
    await badge.waitFor();
    assert.equal(await rename(), 403);
  });

  itLong('changing the access of a key shows the error of the service', async () => {
    await page.route('**/admin/keys/*', (route) =>
      route.fulfill({ status: 503, json: { status: 503, code: 'unavailable', message: 'The disk is full.' } }),
    );
    await act(row('reader'), 'Allow writes: reader');
    await row('reader').getByRole('alert').getByText('The disk is full.').waitFor();
    await page.unroute('**/admin/keys/*');
    await act(row('reader'), 'Allow writes: reader');
    await page.getByText('reader is now read-write.').waitFor();
    await row('reader').getByRole('alert').waitFor({ state: 'detached' });
  });

  it('a writer key writes messages of its app, until the end of the chosen day', async () => {
    await beginKey('writer', 'back end');
    await chooseApp();
    await page.getByRole('combobox', { name: 'Expires' }).selectOption('After a date');
    await page.getByLabel('Last day').fill('2099-12-31');
    const { headers, path } = await takeSecret();
    const body = ndjson([message(one.ids.conversation, 3000)]);
    assert.equal(path, '/openai/v1/conversations');
    const sent = await service.request('POST', '/admin/records', {
      headers: { ...headers, 'content-type': 'application/x-ndjson' },
      body,
    });
    assert.equal(sent.status, 200);
    assert.equal((await keyNamed('back end')).expires_at, Date.UTC(2100, 0, 1) / 1000);
  });

  itLong('a feed key follows a workspace, or one app or some datasets of it', async () => {
    const create = async (name: string, limit: () => Promise<void>) => {
      await beginKey('feed', name);
      await page.getByRole('combobox', { name: 'Workspace' }).selectOption({ label: 'Harbour Coffee' });
      await limit();
      const { headers, path } = await takeSecret();
      const kinds = new Set<string>();
      for (let after = ''; ; ) {
        const { status, body } = await service.request('GET', `${path}?limit=1000&after=${after}`, { headers });
        assert.equal(status, 200);
        for (const { kind } of body.data) kinds.add(kind);
        if (!body.has_more) return kinds;
        after = body.cursor;
      }
    };
    assert.ok((await create('follower', async () => undefined)).has('workspace'));
    const ofDatasets = await create('indexer', async () => {
      await page.getByLabel('Only one app').check();
      await page.getByLabel('Only some datasets').check();
      assert.equal(await page.getByLabel('Only one app').isChecked(), false);
      await page.getByLabel('Handbook').check();
    });
    assert.deepEqual(ofDatasets, new Set(['dataset', 'document', 'segment', 'child_chunk']));
    const ofApp = await create('archive', async () => {
      await page.getByLabel('Only one app').check();
      await chooseApp();
    });
    assert.deepEqual(ofApp, new Set(['app', 'conversation', 'message']));
    await row('follower').getByText('workspace Harbour Coffee').waitFor();
    await row('indexer').getByText('dataset Handbook').waitFor();
    await row('archive').getByText('app the help desk').waitFor();
  });

  let secretOfAdmin: string;
  itLong('an admin key allows listing keys', async () => {
    await beginKey('admin', 'second shift');
    await page.getByRole('combobox', { name: 'Expires' }).selectOption('Never');
    const { secret, headers, path } = await takeSecret();
    assert.equal((await service.request('GET', path, { headers })).status, 200);
    await row('second shift').getByText('everything').waitFor();
    secretOfAdmin = secret;
  });

  itLong('the secret of a new key is nowhere in the memory of the page', async () => {
    const memory = await memoryOf(page);
    assert.equal(memory.includes('second shift'), true);
    assert.equal(memory.includes(secretOfAdmin), false);
  });

  itLong('names of apps and datasets are requested once each; only some of many datasets', async () => {
    const waitForNames = async () => {
      await page.getByText(/^Datasets Shelf 0, Shelf 1, Shelf 2, Shelf 3, Shelf 4 and 2 more$/).waitFor();
      await page.getByText('all datasets of Harbour Coffee').waitFor();
      await page.getByRole('cell', { name: 'the help desk' }).nth(1).waitFor();
    };
    // Until the first page is complete, its requests would count too.
    await waitForNames();
    const requestedPaths: string[] = [];
    const add = (request: { url(): string }) => requestedPaths.push(new URL(request.url()).pathname);
    page.on('request', add);
    await page.reload();
    await waitForNames();
    page.off('request', add);
    const rows = requestedPaths.filter((path) => /^\/admin\/(?:apps|datasets|workspaces)/.test(path));
    assert.equal(new Set(rows).size, rows.length, 'each once');
    assert.ok(rows.includes(`/admin/apps/${one.ids.app}`));
    assert.ok(
      rows.every((path) => path.split('/').length === 4),
      `no list: ${rows}`,
    );
    assert.deepEqual(pageErrors, []);
  });

  it('the list is filtered by kind, state and words, all in the address', async () => {
    const chip = (group: string, name: string) =>
      page.getByRole('group', { name: group }).getByRole('link', { name: new RegExp(`^${name} ?\\d+$`, 'i') });
    await untilEqual(() => chip('State', 'expired').innerText(), 'Expired\n1');
    await chip('State', 'expired').click();
    await page.getByText(/^1 of \d+ keys$/).waitFor();
    assert.equal(await row('an old one').count(), 1);
    await chip('Kind', 'writer').click();
    await page.getByText('No key matches these filters.').waitFor();
    assert.match(page.url(), /#\/keys\?state=expired&kind=writer$/);
    await page.goBack();
    await row('an old one').waitFor();
    await chip('State', 'expired').click();
    await pressShortcut(page, '/');
    await page.keyboard.type('BACK e');
    await row('back end').waitFor();
    await page.waitForURL(/#\/keys\?q=BACK\+e$/);
    await row('editors').waitFor({ state: 'detached' });
    await page.reload();
    await row('back end').waitFor();
    await row('editors').waitFor({ state: 'detached' });
    await page.getByRole('searchbox').fill('');
    await row('editors').waitFor();
    await page.waitForURL(/#\/keys$/);
  });

  it('a key that expires within a week has the warning colour, and no state is red', async () => {
    const soon = Math.floor(Date.now() / 1000) + 6 * 86_400;
    await service.load([
      {
        record: 'api_key',
        kind: 'knowledge',
        workspace_id: one.ids.workspace,
        name: 'guest',
        secret: makeSecret('knowledge'),
        expires_at: soon,
      },
    ]);
    await page.reload();
    const badge = row('guest').locator('.badge');
    assert.deepEqual([await badge.innerText(), await badge.getAttribute('class')], ['Expires soon', 'badge warn']);
    assert.equal(await page.locator('table .bad, table .danger').count(), 0);
  });

  it('a key has a page: what it allows, its errors and its changes', async () => {
    await row('librarian').getByRole('link', { name: 'librarian' }).click();
    await page.getByRole('heading', { name: 'librarian' }).waitFor();
    await page.locator('.facts').getByText('datasets Shelf 0').waitFor();
    await page.getByText('No request with this key was rejected or failed in the last 24 hours.').waitFor();
    await page.getByRole('heading', { name: 'Changes with this key' }).waitFor();
    await page.getByText('None in the audit log.').waitFor();
    await checkInBothThemes(page);
    await page.getByRole('navigation', { name: 'Breadcrumbs' }).getByRole('link', { name: 'Keys' }).click();
    await row('librarian').waitFor();
  });

  it('a key that only failed was never used successfully', async () => {
    const [id, key] = [randomUUID(), makeSecret('feed')];
    await service.load([
      { record: 'api_key', id, kind: 'feed', workspace_id: one.ids.workspace, name: 'misplaced', secret: key },
    ]);
    assert.equal((await service.request('GET', '/admin/keys', { key })).status, 401);
    // Another view in between, so that the keys are read again.
    await page.goto('/console#/models');
    await page.getByRole('heading', { name: 'Models' }).waitFor();
    await page.goto(`/console#/keys/${id}`);
    await page.locator('.facts').getByText('Never successfully').waitFor();
    await page.getByRole('navigation', { name: 'Breadcrumbs' }).getByRole('link', { name: 'Keys' }).click();
    await row('librarian').waitFor();
  });

  it('a session with a read-only key offers no writes', async () => {
    const secret = makeSecret('admin');
    const id = randomUUID();
    await service.load([{ record: 'api_key', id, kind: 'admin', name: 'auditor', secret, read_only: true }]);
    const reading = await openTab(browser, service.base);
    await signIn(reading.page, secret, '/console#/keys');
    const shown = reading.page.getByRole('row').filter({ hasText: 'librarian' });
    await shown.waitFor();
    for (const name of [/New key/, /^Actions of/]) {
      const buttons = reading.page.getByRole('button', { name });
      await buttons.first().waitFor({ state: 'detached' });
    }
    await reading.page.goto(`/console#/knowledge/${one.ids.dataset}/${one.ids.document}`);
    await reading.page
      .getByRole('button', { name: /^History of chunk/ })
      .first()
      .waitFor();
    assert.equal(await reading.page.getByRole('button', { name: /^Edit chunk/ }).count(), 0);
    await reading.page.goto('/console#/start');
    await reading.page.getByText('Your key is read-only').waitFor();
    assert.equal(await reading.page.getByRole('button', { name: 'Load the starter records' }).count(), 0);
    await reading.page.context().close();
    await service.request('DELETE', `/admin/keys/${id}`, { key: admin });
  });

  it('a key is revoked at once, after a confirmation that names it', async () => {
    const ask = () => service.request('GET', one.chunkPath, { key: one.keys.knowledge });
    const { data } = (await service.request('GET', '/admin/keys?limit=100', { key: admin })).body;
    const { name } = data.find(({ id }: { id: string }) => id === one.keyIds.knowledge);
    const own = row('Harbour Coffee').filter({ has: page.getByTitle(`Actions of ${name}`) });
    await act(own, `Revoke: ${name}`);
    await page.getByRole('button', { name: 'Cancel' }).click();
    assert.equal((await ask()).status, 200);
    await act(own, `Revoke: ${name}`);
    await page.getByRole('heading', { name: `Revoke ${name}?` }).waitFor();
    await page.getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByRole('row').filter({ hasText: 'Harbour Coffee' }).filter({ hasText: 'revoked' }).waitFor();
    assert.equal((await ask()).status, 401);
  });

  it('Escape closes a dialog and returns the focus, but does not close the one-time secret', async () => {
    const button = page.getByRole('button', { name: 'New key' });
    await button.focus();
    await page.keyboard.press('Enter');
    await dialog().waitFor();
    await page.keyboard.press('Escape');
    await dialog().waitFor({ state: 'detached' });
    await page.locator('button:focus', { hasText: 'New key' }).waitFor();
    await beginKey('app', 'one-time');
    await chooseApp();
    await page.getByRole('button', { name: 'Create the key' }).click();
    await page.getByText('It is shown only once').waitFor();
    // Browsers let a page cancel the first Escape more readily than the second.
    for (let presses = 0; presses < 3; presses += 1) await page.keyboard.press('Escape');
    const secret = dialog().locator('code').first();
    assert.match((await secret.textContent()) ?? '', /^app-/);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await dialog().waitFor({ state: 'detached' });
  });

  it('a dialog that was closed takes the focus from nothing that was pressed since', async () => {
    const endDelay = await delayEffects(page);
    await page.getByRole('button', { name: 'New key' }).click();
    await dialog().getByRole('button', { name: 'Close' }).click();
    const opener = row('an old one').getByRole('button', { name: /^Actions of/ });
    await opener.click();
    await endDelay();
    assert.equal(await opener.evaluate((element) => element.matches(':focus')), true);
    await row('an old one').getByRole('button', { name: 'Revoke' }).click();
    await dialog().getByRole('button', { name: 'Cancel' }).click();
    await page.locator('button:focus[aria-label="Actions of an old one"]').waitFor();
  });

  it('renames a key, copies its ID, and rotates it: the old one ends in a day', async () => {
    const secret = makeSecret('app');
    await service.load([
      {
        record: 'api_key',
        id: randomUUID(),
        kind: 'app',
        workspace_id: one.ids.workspace,
        app_id: one.ids.app,
        name: 'web',
        secret,
      },
    ]);
    await page.reload();
    const count = async () => page.getByRole('row').filter({ hasText: 'web 2027' }).count();
    await act(row('web'), 'Rename');
    await dialog().getByLabel('Name').fill('web 2027');
    await dialog().getByRole('button', { name: 'Rename' }).click();
    await row('web 2027').waitFor();
    assert.equal((await service.request('GET', '/v1/messages', { key: secret })).status, 400);
    await service.saveUses();
    await page.reload();
    await row('web 2027').getByText('1 failed').waitFor();
    await act(row('web 2027'), 'Rotate');
    await dialog().getByRole('button', { name: 'Rotate' }).click();
    const shown = (await dialog().locator('code').first().innerText()).trim();
    assert.match(shown, /^app-/);
    await dialog().getByRole('button', { name: 'I have copied it' }).click();
    await untilEqual(count, 2);
    await row('web 2027').getByText('Expires soon').waitFor();
    for (const key of [secret, shown])
      assert.equal((await service.request('GET', '/v1/messages', { key })).status, 400, 'both keys are valid');
    assert.deepEqual(pageErrors, []);
  });

  it('axe finds nothing serious, in both themes and at the width of a phone', async () => {
    await checkInBothThemes(page);
    await beginKey('knowledge', 'x');
    await checkInBothThemes(page, dialog());
    await page.keyboard.press('Escape');
    await dialog().waitFor({ state: 'detached' });
    assert.deepEqual(pageErrors, []);
  });

  it('the search and the filters cover all keys, not only those of the first page', async () => {
    const spare = { record: 'api_key', kind: 'feed', workspace_id: one.ids.workspace };
    const spares = Array.from({ length: 150 }, (_, n) => ({
      ...spare,
      name: `spare ${n}`,
      secret: makeSecret('feed'),
    }));
    await service.load(spares);
    await page.goto('/console#/keys?q=spare&kind=feed');
    await page.reload();
    await page
      .getByRole('status')
      .getByText(/^150 of 1\d\d keys$/)
      .waitFor();
    await untilEqual(() => row('spare').count(), 150);
    await page.goto('/console#/keys');
  });

  itLong('revoking the last admin key, with which the user is signed in, warns and signs out', async () => {
    const last = page.getByText('backscroll keys create --kind admin');
    const own = () => act(row('your key'), /^Revoke/);
    await own();
    await page.getByText('revoking it signs you out').waitFor();
    assert.equal(await last.count(), 0);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await act(row('second shift'), /^Revoke/);
    await page.getByRole('button', { name: 'Revoke', exact: true }).click();
    await row('second shift').filter({ hasText: 'revoked' }).waitFor();
    await own();
    await last.waitFor();
    await checkAccessibilityOfVariant(page, dialog());
    await page.getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByText('You were signed out').waitFor();
    assert.equal((await service.request('GET', '/admin/keys', { key: admin })).status, 401);
  });
});

/** The heap of the page's scripts after a garbage collection, with all texts. */
async function memoryOf(page: Page): Promise<string> {
  const session = await page.context().newCDPSession(page);
  let snapshot = '';
  session.on('HeapProfiler.addHeapSnapshotChunk', ({ chunk }) => {
    snapshot += chunk;
  });
  await session.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
  await session.detach();
  return snapshot;
}

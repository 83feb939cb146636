import assert from 'node:assert/strict';
import { after, afterEach, before, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  accountButton,
  checkInBothThemes,
  closeTabs,
  openBrowser,
  openTab,
  scrollsHorizontally,
  signOut,
} from '../support/browser.ts';
import { freePort } from '../support/cli-helpers.ts';
import { makeTwoTenants, message, onOneEngine, type Service, startService } from '../support/harness.ts';
import { until } from '../support/until.ts';
import { type IdentityProvider, startProvider } from './identity-provider.ts';

onOneEngine('sign-in by name in the console', (engine) => {
  const { admin, one, records } = makeTwoTenants();
  let service: Service;
  let provider: IdentityProvider;
  let browser: Browser;
  before(async () => {
    const port = await freePort();
    provider = await startProvider({ base: `http://127.0.0.1:${port}` });
    const roles = { OIDC_ROLE_CLAIM: 'groups', OIDC_ROLES: 'support=viewer,ops=admin', OIDC_NAME: 'Acme "ID" & Co' };
    [service, browser] = await Promise.all([
      startService(engine, { PORT: `${port}`, ...provider.settings, ...roles }),
      openBrowser(),
    ]);
    await service.load([...records, message(one.ids.conversation, 1, { query: 'Hello there' })]);
  });
  afterEach(() => closeTabs(browser));
  after(async () => {
    await browser?.close();
    await service?.close();
    await provider?.stop();
  });

  it('a person comes back to the view that was open, and signs out here and at the provider', async () => {
    const { page, pageErrors } = await openTab(browser, service.base);
    await page.goto('/console#/models');
    const link = page.getByRole('link', { name: 'Sign in with Acme "ID" & Co' });
    await link.waitFor();
    await checkInBothThemes(page);
    await link.click();
    await accountButton(page).click();
    await page.getByText('Signed in as').waitFor();
    await page.getByText('Ann', { exact: true }).waitFor();
    assert.equal(new URL(page.url()).hash, '#/models');
    const readable = await page.evaluate<string>(
      'JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }])',
    );
    assert.doesNotMatch(readable, /backscroll_s|eyJ/);
    await page.keyboard.press('Escape');
    await signOut(page);
    await page.waitForURL(`${provider.issuer}/session/end**`);
    assert.deepEqual(pageErrors, []);
  });

  it('without a role, the page says so and whom to ask, and a key still signs in', async () => {
    provider.state.account = { sub: 'sal', name: 'Sal', groups: ['sales'] };
    const { page, pageErrors } = await openTab(browser, service.base);
    await page.goto('/console');
    await page.getByRole('link', { name: 'Sign in with' }).click();
    await page.getByRole('status').filter({ hasText: 'has no access to this installation. Ask those who' }).waitFor();
    assert.equal(new URL(page.url()).hash, '');
    await page.getByLabel('Admin key').fill(admin);
    await page.keyboard.press('Enter');
    await accountButton(page).waitFor();
    assert.deepEqual(pageErrors, []);
  });

  const signInAs = async (account: object) => {
    provider.state.account = { sub: 'x', name: 'X', ...account };
    const tab = await openTab(browser, service.base);
    await tab.page.goto('/console');
    await tab.page.getByRole('link', { name: 'Sign in with' }).click();
    await accountButton(tab.page).waitFor();
    return tab;
  };
  const views = (page: Page) => page.getByRole('navigation', { name: 'Views' });

  it('a viewer is offered what the role allows', async () => {
    const { page, pageErrors } = await signInAs({ sub: 'vic', name: 'Vic', groups: ['support'] });
    await views(page).getByRole('link', { name: 'Users' }).click();
    await page.getByRole('link', { name: 'ann' }).click();
    await page.getByRole('heading', { name: 'ann', level: 1 }).waitFor();
    await page.getByRole('heading', { name: 'Conversations' }).waitFor();
    for (const name of ['Keys', 'People']) assert.equal(await views(page).getByRole('link', { name }).count(), 0, name);
    assert.equal(await page.getByRole('group', { name: 'All data of this user' }).count(), 0);
    assert.equal(await page.getByRole('heading', { name: 'Read by' }).count(), 0);
    assert.deepEqual(pageErrors, []);
  });

  it('an admin sees who signed in and who read what, signs people out and blocks them', async () => {
    const vic = await signInAs({ sub: 'vic', name: 'Vic', groups: ['support'] });
    const transcript = `/console#/conversations/${one.ids.app}/${one.ids.conversation}`;
    await vic.page.goto(transcript);
    await vic.page.getByText('Hello').first().waitFor();
    const { page, pageErrors } = await signInAs({ sub: 'eva', name: 'Eva', groups: ['ops'] });
    await page.goto('/console#/users/ann');
    await until(async () => {
      await page.reload();
      await page.getByRole('heading', { name: 'Read by' }).waitFor();
      return (await page.getByRole('row').filter({ hasText: 'Vic' }).count()) > 0;
    });
    await views(page).getByRole('link', { name: 'People' }).click();
    const row = (name: string) => page.getByRole('row').filter({ hasText: name });
    await row('Eva').waitFor();
    for (const width of [375, 820, 1200, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      assert.ok(!(await scrollsHorizontally(page)), `${width}`);
    }
    await checkInBothThemes(page);
    const act = async (name: string) => {
      await row('Vic').getByRole('button', { name: 'Actions of Vic' }).click();
      await page.getByRole('button', { name: `${name}: Vic` }).click();
    };
    await act('Block');
    await row('Vic').getByText('Blocked').waitFor();
    await page.getByRole('status').filter({ hasText: 'Vic is blocked.' }).waitFor();
    await vic.page.reload();
    await vic.page.getByText('You were signed out').waitFor();
    await row('Vic').getByRole('link', { name: 'Vic' }).click();
    await page.getByRole('heading', { name: 'Has read' }).waitFor();
    await page.getByRole('link', { name: /a conversation of ann/ }).waitFor();
    await page.goto('/console#/activity');
    await page.getByRole('link', { name: 'Who read what' }).click();
    await page.getByRole('heading', { name: 'Reads', level: 1 }).waitFor();
    await row('Vic').first().waitFor();
    await checkInBothThemes(page);
    assert.deepEqual(pageErrors, []);
  });
});

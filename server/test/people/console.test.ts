import assert from 'node:assert/strict';
import { after, afterEach, before, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { accountButton, checkInBothThemes, closeTabs, openBrowser, openTab, signOut } from '../support/browser.ts';
import { freePort } from '../support/cli-helpers.ts';
import { makeTwoTenants, onOneEngine, type Service, startService } from '../support/harness.ts';
import { type IdentityProvider, startProvider } from './identity-provider.ts';

onOneEngine('sign-in by name in the console', (engine) => {
  const { admin, records } = makeTwoTenants();
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
    await service.load(records);
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
});

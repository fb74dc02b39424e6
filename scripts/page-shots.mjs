// The screenshots in docs/, each of a real play. Usage: npm run page-shots
import { begin, choose, withPage } from './page-browser.mjs';
import './on-node.mjs';

await withPage(async (open) => {
  const race = await open('/race/mutex-per-user');
  await begin(race);
  await choose(race, 'AAB');
  await race.screenshot({ path: 'docs/page-race.png' });
  await choose(race, 'BAB');
  await race.locator('[data-outcome]').waitFor();
  await race.keyboard.press('n');
  await race.locator('[data-rung=redis-no-expiry] [data-predict=A]').click();
  await race.locator('[data-rung=redis-no-expiry] [data-all-orders]').waitFor();
  await race.screenshot({ path: 'docs/page-compare.png' });
  const dark = await open('/ladder/3', { colorScheme: 'dark', locale: 'zh-CN' });
  await dark.locator('[data-rung=redis-atomic]').click();
  await dark.locator('[data-connection=open]').waitFor();
  await dark.screenshot({ path: 'docs/page-ladder.png' });
  await race.context().close(); // Nobody plays while a load has the lab.
  const broken = await open('/break?rung=redlock&load=100');
  await broken.locator('[data-begin]:not([disabled])').click();
  await broken.locator('[data-count=accepted]').waitFor({ timeout: 60_000 });
  for (const server of ['redis-2', 'redis-3']) {
    await broken.waitForTimeout(4_000); // So long it sells in the picture.
    await broken.locator(`[data-part=${server}]`).click();
    await broken.locator(`[data-menu=${server}] [data-verb=stop]`).click();
    await broken.locator(`[data-part=${server}][data-state=stopped]`).waitFor();
  }
  await broken.locator('[data-quorum="1"]').waitFor();
  await broken.waitForTimeout(2_500);
  await broken.evaluate(() => scrollTo(0, 0));
  await broken.screenshot({ path: 'docs/page-break.png' });
  await broken.locator('[data-end]').click();
  await broken.locator('[data-over=true]').waitFor({ timeout: 60_000 });
});
console.log('docs/page-race.png, page-compare.png, page-ladder.png, page-break.png');

// The screenshots in docs/, each of a real play. Usage: npm run page-shots
import { begin, choose, withPage } from './page-browser.mjs';

await withPage(async (open) => {
  const race = await open('/race/mutex-per-user');
  await begin(race);
  await choose(race, 'AAB');
  await race.screenshot({ path: 'docs/page-race.png' });
  await choose(race, 'BAB');
  await race.locator('[data-outcome]').waitFor();
  await race.keyboard.press('n');
  await race.locator('[data-rung=redis-no-expiry] [data-predict=A]').click();
  await race.locator('[data-rung=redis-no-expiry] [data-outcome]').waitFor();
  await race.screenshot({ path: 'docs/page-compare.png' });
  const dark = await open('/ladder/3', { colorScheme: 'dark', locale: 'zh-CN' });
  await dark.locator('[data-rung=redis-atomic]').click();
  await dark.screenshot({ path: 'docs/page-ladder.png' });
});
console.log('docs/page-race.png, docs/page-compare.png, docs/page-ladder.png');

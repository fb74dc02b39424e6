/** docs/design.md shows what an attack on order ids prints: it is run. */
import { readFileSync } from 'node:fs';
import { execa } from 'execa';
import { expect, test } from 'vitest';

test('the guess attack prints what the page says', async () => {
  const page = readFileSync(new URL('../../docs/design.md', import.meta.url), 'utf8');
  const { stdout } = await execa('node', ['examples/guess-order-ids.mjs']);
  expect(page).toContain(`\`\`\`text\n${stdout}\n\`\`\``);
  expect(stdout).toContain(
    'auto-increment: sold 43565 in a day? 10000 of 10000 neighbours are orders',
  );
  expect(stdout).toContain(' 0 of 10000 neighbours are orders');
});

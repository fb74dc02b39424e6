/** docs/order-ids.md shows an attack: it is run, and prints what the page says. */
import { readFileSync } from 'node:fs';
import { execa } from 'execa';
import { expect, test } from 'vitest';

const page = readFileSync(new URL('../../docs/order-ids.md', import.meta.url), 'utf8');

test('the guess attack prints what the page says', async () => {
  const [, snippet = '', printed = ''] =
    /```js\n([\s\S]+?)```\n\n```text\n([\s\S]+?)```/.exec(page) ?? [];
  const { stdout } = await execa('node', ['--input-type=module', '--eval', snippet]);
  expect(`${stdout}\n`).toBe(printed);
  expect(printed).toContain(
    'auto-increment: sold 43565 in a day? 10000 of 10000 neighbours are orders',
  );
  expect(printed).toContain(' 0 of 10000 neighbours are orders');
});

/** The stream of an order's states, while the processes behind it are killed. */
import { afterEach, expect, test } from 'vitest';
import { arrives, buy, openStream, putOnSale, statuses } from '../support/client.ts';
import { theLab } from '../support/own-lab.ts';

const lab = theLab();
afterEach(() => lab().heal());

test('an open stream tells the end of an order, although an instance and then its worker are killed', async () => {
  const worker = lab().server('api-worker-1');
  const voucherId = await putOnSale({ stock: 1 });
  await worker.pause();
  const { id = '' } = await buy(voucherId, '7');
  const [first, second] = [await openStream(id, '7'), await openStream(id, '7')];
  for (const stream of [first, second]) await arrives(stream, ['queued']);
  const instance = first.answer.headers.get('x-instance') ?? '';
  expect(second.answer.headers.get('x-instance')).not.toBe(instance);
  await lab().server(instance).kill();
  expect(await first.ended).toBe('cut off');
  expect(statuses(first)).toEqual(['queued']);
  const again = await openStream(id, '7');
  await worker.kill();
  for (const stream of [second, again]) {
    expect(await stream.ended).toBe('in order');
    expect(statuses(stream)).toEqual(['queued', 'confirmed']);
  }
});

/**
 * A voucher is created in two stores. A process that is killed between them leaves no voucher that
 * can never be sold, and a sale that Redis has lost is never begun again.
 */
import { randomUUID } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { defaultShape } from '../../src/lab/environment/lab.ts';
import { type Arrival, laneKeys } from '../../src/lab/stage/lane-messages.ts';
import { select } from '../../src/service/connections/mysql.ts';
import type { CheckpointName } from '../../src/service/trace/checkpoints.ts';
import { buy, call, openSale, putOnSale, tokenFor } from '../support/client.ts';
import { readyConnections, testConnections } from '../support/connections.ts';
import { theLab } from '../support/own-lab.ts';

const lab = theLab();

const steps: readonly CheckpointName[] = ['voucher-inserted', 'before-commit'];

/** Creates a voucher with this title, and kills the API process when it reaches `place`. */
async function createAndKillAt(place: CheckpointName, title: string): Promise<void> {
  const race = randomUUID();
  const creating = call('/vouchers', {
    method: 'POST',
    token: await tokenFor('1', 'operator'),
    headers: { 'x-lab-lane': `${race}:A` },
    body: openSale({ title }),
  });
  const player = testConnections().newLabRedis();
  onTestFinished(() => player.disconnect());
  for (;;) {
    const [, text] = (await player.blpop(laneKeys.arrivals(race), 10)) ?? [];
    if (text === undefined) throw new Error(`the creation did not reach ${place}`);
    const { checkpoint, pid } = JSON.parse(text) as Arrival;
    if (checkpoint === place) {
      process.kill(pid, 'SIGKILL');
      break;
    }
    await player.rpush(laneKeys.resume(race, 'A'), 'resume');
  }
  expect((await creating).status).toBe(503);
}

describe('an API process that is killed while it creates a voucher', () => {
  test.each(steps)('at %s leaves none that is never ready', async (place) => {
    const pool = testConnections().mysql();
    const title = `killed at ${place} ${randomUUID()}`;
    await createAndKillAt(place, title);
    const left = await select(pool, 'SELECT id FROM vouchers WHERE title = ?', [title]);
    expect(left).toEqual([]);
    await lab().ensure(defaultShape); // Another process has taken the place of the killed one.
    const next = await putOnSale({ title, stock: 1 });
    expect(await buy(next, '7')).toMatchObject({ httpStatus: 202 });
    expect(await buy(next, '8')).toMatchObject({ code: 'sold-out' });
  });
});

describe('a voucher whose sale Redis has lost', () => {
  test.each([
    ['lua-stream', 'after a sale', 1],
    ['lua-stream', 'before any sale', 0],
    ['redis-stock', 'after a sale', 1],
    ['redis-commands', 'after a sale', 1],
  ])('on %s, %s, is not ready, says why, and is not sold again', async (rung, _, buyers) => {
    const connections = await readyConnections();
    const redis = connections.redis('admin');
    const voucherId = await putOnSale({ rung, stock: 2 });
    for (let user = 1; user <= buyers; user++)
      expect([201, 202]).toContain((await buy(voucherId, String(user))).httpStatus);
    const { voucher, buyers: hash } = connections.saleKeys.of(voucherId);
    await redis.del(voucher(voucherId), hash(voucherId));
    for (let purchase = 0; purchase < 8; purchase++) {
      const answer = await buy(voucherId, '7');
      expect(answer).toMatchObject({ httpStatus: 503, code: 'not-ready' });
      expect(answer).toMatchObject({ detail: expect.stringMatching(/Redis has lost the sale/) });
    }
    const shown = await (await call(`/vouchers/${voucherId}`)).json();
    expect(shown).not.toHaveProperty('remaining');
    expect(await redis.exists(voucher(voucherId))).toBe(0);
  });
});

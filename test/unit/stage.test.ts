/** The loads of a stage, against a service that is played here. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Lab } from '../../src/lab/environment/lab.ts';
import { emitter } from '../../src/lab/stage/events.ts';
import { Stage } from '../../src/lab/stage/stage.ts';
import type { Purchase } from '../../src/lab/workload/steady-purchases.ts';
import { httpServer } from '../support/basics.ts';

let isSilent: boolean;
let events: string[];
let interruption: AbortController;
let stage: Stage;

beforeEach(async () => {
  isSilent = false;
  const { url: baseUrl } = await httpServer((_, response) => {
    if (isSilent) return;
    response.writeHead(202, { 'content-type': 'application/json', 'x-instance': 'api-1' });
    response.end(JSON.stringify({ id: '9' }));
  });
  const lab = { baseUrl, tokenSecret: 'x'.repeat(32) };
  events = [];
  interruption = new AbortController();
  const emit = emitter([({ kind }) => events.push(kind)]);
  stage = new Stage(lab as unknown as Lab, interruption.signal, emit);
});
afterEach(() => stage.end());

const purchase = (user: number): Purchase => ({
  ...{ voucherId: '1', userId: String(user), requestId: `r-${user}` },
});
function* withoutEnd(): Generator<Purchase> {
  for (let user = 1; ; user++) yield purchase(user);
}
const endless = () => ({ name: 'lua-stream', purchases: withoutEnd(), perSecond: 500 });
/** A load that must be finished. */
const loadOf = (users: number) => ({
  ...{ name: 'lua-stream', perSecond: 500, finishWithinMs: 5_000 },
  purchases: Array.from({ length: users }, (_, user) => purchase(user)),
});
const sold = (count: number, tries: readonly unknown[]) =>
  stage.until('the sales', 5_000, () => tries.length >= count);

describe('a load beside work', () => {
  test('ends with the work, which sees the answers as they come', async () => {
    const seen = await stage.during(endless(), async (tries) => {
      await sold(10, tries);
      return tries;
    });
    expect(seen.length).toBe(stage.tries.length);
    expect(stage.tries.every(({ outcome }) => outcome === 'accepted')).toBe(true);
    expect([events.at(0), events.at(-1)]).toEqual(['load-started', 'load-ended']);
    expect(events.filter((kind) => kind === 'purchase')).toHaveLength(stage.tries.length);
  });

  test('that must be finished goes on until every answer is final', async () => {
    expect(await stage.during(loadOf(30), async () => 'done')).toBe('done');
    expect(stage.tries).toHaveLength(30);
  });

  test('ends with the error of the work', async () => {
    const failing = stage.during(endless(), () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(events.at(-1)).toBe('load-ended');
  });

  test('has its own answers, beside those of other loads', async () => {
    await stage.buy(purchase(7));
    expect(await stage.sell(loadOf(2))).toHaveLength(2);
    expect(stage.tries).toHaveLength(3);
  });
});

test('an interruption ends a load at once, also when nobody answers', async () => {
  isSilent = true;
  const selling = stage.during(endless(), () => stage.rest(60_000));
  setImmediate(() => interruption.abort(new Error('interrupted')));
  await expect(selling).rejects.toThrow();
  expect(events.at(-1)).toBe('load-ended');
  const reasons = stage.tries.map(({ reason }) => reason);
  expect(reasons).not.toContain('HeadersTimeoutError: Headers Timeout Error'); // After 5 s.
});

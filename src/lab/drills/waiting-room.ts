/**
 * The waiting room of a sale, while instances, order workers and the Redis of its places are killed
 * and restarted. Ten times as many users arrive as have their turn. Some try to buy without a pass,
 * and some leave the line without a word.
 */
import type { ServiceShape } from '../environment/servers/service.ts';
import { killServer } from '../faults/process.ts';
import type { Stage } from '../stage/stage.ts';
import { isFinal, onePurchaseEach, type Purchase } from '../workload/steady-purchases.ts';
import { type Look, lookAtPlace } from '../workload/waiting-line.ts';
import { type Drill, repeatedSales } from './drill.ts';
import { playStorm, type StormFault } from './storm-faults.ts';
import { now } from './try-times.ts';
import { judgeWaitingRoom, type WaitedSale } from './waiting-room-figures.ts';

const rung = 'lua-stream';
const passesAtOnce = 20;
const users = 300;
const arrivalsPerSecond = 150;
/** Every tenth user tries to buy before they wait. */
const jumps = (at: number): boolean => at % 10 === 0;
/** Every fifth user takes a place, and never comes back. */
const leaves = (at: number): boolean => at % 5 === 2;
const betweenTriesMs = 200;
/** From the pass to the purchase: so the passes are fewer than the users who come. */
const thinkMs = 300;
const withinMs = 120_000;

export const waitingShape: ServiceShape = {
  ...{ instances: 4, balancer: 'nginx' },
  // A pass of a purchase whose instance died lapses soon.
  settings: { ORDER_WORKERS: '2', PASS_MS: '5000', USER_TRIES_PER_SECOND: '0' },
};

export const waitingRoom: Drill = {
  about: {
    en: 'users wait in line for a sale while instances, workers and Redis die',
    zh: '用户在等候室排队时，实例、订单消费者和 Redis 不断宕机',
  },
  takesMinutes: 1,
  async play(stage, options) {
    await stage.serve(waitingShape);
    const playNext = (_: number, seed: number) => playSale(stage, seed);
    return judgeWaitingRoom(await repeatedSales(options, 1, playNext));
  },
};

async function playSale(stage: Stage, seed: number): Promise<WaitedSale> {
  const title = `waiting-room, seed ${seed}`;
  const voucherId = await stage.putOnSale({ title, stock: users, rung, passesAtOnce });
  const purchases = onePurchaseEach(voucherId, 'waiting', users, seed * 1_000 + 1);
  const staying = purchases.filter((_, at) => !leaves(at));
  const looks: Look[] = [];
  const over = new AbortController();
  const storm = playStorm(stage, kills(seed), over.signal);
  const beganMs = performance.now();
  const visits = purchases.map(async (purchase, at) => {
    await stage.rest(beganMs + (at * 1_000) / arrivalsPerSecond - performance.now());
    if (jumps(at)) await buyOnceAnswered(stage, asJump(purchase));
    if (!leaves(at)) return waitAndBuy(stage, purchase, looks);
    const look = await lookAtPlace(stage.lab, voucherId, purchase.userId, now());
    if (look) looks.push(look);
  });
  await Promise.all(visits).finally(() => over.abort());
  const killed = await storm;
  await stage.lab.heal();
  const facts = await stage.facts(voucherId);
  const tries = stage.triesOf(voucherId);
  const jumped = purchases.filter((_, at) => jumps(at)).map(asJump);
  return { ...{ looks, killed, facts, tries, passesAtOnce }, purchases: staying, jumps: jumped };
}

const asJump = ({ requestId, ...purchase }: Purchase): Purchase => ({
  ...purchase,
  requestId: `${requestId}-jump`,
});

/** Without a pass. It is repeated while its answer says nothing about passes. */
async function buyOnceAnswered(stage: Stage, purchase: Purchase): Promise<void> {
  await stage.until('an answer to a purchase without a pass', withinMs, async () =>
    isFinal(await stage.buy(purchase)),
  );
}

/** A user whose pass lapsed before the answer goes back to the line. */
async function waitAndBuy(stage: Stage, purchase: Purchase, looks: Look[]): Promise<void> {
  const endMs = performance.now() + withinMs;
  let askedAt = now();
  while (performance.now() < endMs) {
    const look = await lookAtPlace(stage.lab, purchase.voucherId, purchase.userId, askedAt);
    if (look) looks.push(look);
    if (look?.pass) {
      await stage.rest(thinkMs);
      const headers = { 'purchase-pass': look.pass };
      const answer = await stage.buy(purchase, { headers });
      const hasLapsed = answer.reason === 'pass-required';
      if (isFinal(answer) && !hasLapsed) return;
      if (hasLapsed) askedAt = now();
    }
    await stage.rest(look?.askAgainSeconds ? look.askAgainSeconds * 1_000 : betweenTriesMs);
  }
}

/** All in turn: one instance goes on answering, and one worker goes on recording. */
function* kills(seed: number): Generator<StormFault> {
  const servers = ['api-1', 'redis-main', 'api-2', 'api-worker-1', 'api-3'];
  for (let turn = seed; ; turn++) {
    const fault = killServer(servers[turn % servers.length] ?? '');
    yield { fault, kind: fault.name, afterMs: 600, forMs: 400 };
  }
}

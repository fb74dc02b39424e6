/**
 * The waiting room of a sale, while instances, order workers and the Redis of its places are killed
 * and restarted. Ten times as many users arrive as have their turn. Some try to buy without a pass,
 * and some leave the line without a word.
 */
import type { Bilingual } from '../../texts/texts.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import { countBy, sum } from '../stage/counts.ts';
import type { Judged } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';
import { isFinal, onePurchaseEach, type Purchase, type Try } from '../workload/steady-purchases.ts';
import { type Look, lookAtPlace } from '../workload/waiting-line.ts';
import { voucherName } from './audited.ts';
import { type Drill, repeatedSales } from './drill.ts';
import { allOfName, noneOf, unless, when } from './expectations.ts';
import { isSale, now, sentAt } from './try-times.ts';
import {
  boughtOf,
  judgeUnderFire,
  killsInTurn,
  type Sale,
  shapeUnderFire,
  underFire,
} from './under-fire.ts';

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

const waitingShape: ServiceShape = {
  ...shapeUnderFire,
  // A pass of a purchase whose instance died lapses soon.
  settings: { ...shapeUnderFire.settings, PASS_MS: '5000', USER_TRIES_PER_SECOND: '0' },
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
  const beganMs = performance.now();
  const visit = async (purchase: Purchase, at: number) => {
    await stage.rest(beganMs + (at * 1_000) / arrivalsPerSecond - performance.now());
    if (jumps(at)) await buyOnceAnswered(stage, asJump(purchase));
    if (!leaves(at)) return waitAndBuy(stage, purchase, looks);
    const look = await lookAtPlace(stage.lab, voucherId, purchase.userId, now());
    if (look) looks.push(look);
  };
  const visits = () => Promise.all(purchases.map(visit));
  const kills = killsInTurn(killedInTurn, seed, killTimes);
  const { kinds: killed } = await underFire(stage, [kills], visits);
  const jumped = purchases.filter((_, at) => jumps(at)).map(asJump);
  const bought = await boughtOf(stage, voucherId, staying);
  return { ...bought, looks, killed, passesAtOnce, jumps: jumped };
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

/** One instance goes on answering, and one worker goes on recording. */
const killedInTurn = ['api-1', 'redis-main', 'api-2', 'api-worker-1', 'api-3'];
const killTimes = { afterMs: 600, forMs: 400 };

/** About a place. */
export type FirstLook = Pick<Look, 'place' | 'askedAt' | 'answeredAt'>;

export interface WaitedSale extends Sale {
  /** Purchases that were tried without a pass. */
  readonly jumps: readonly Purchase[];
  /** Every answer about a place. */
  readonly looks: readonly Look[];
  readonly passesAtOnce: number;
  /** What was killed, in order. */
  readonly killed: readonly string[];
}

export function judgeWaitingRoom(sales: readonly WaitedSale[]): Judged {
  const own = sales.map((sale) => ({ ...sale, tries: withoutJumps(sale) }));
  const figures = lineFigures(sales);
  const broken = [
    noneOf(figures.placesLost, { en: 'users lost their place', zh: '丢了位置的用户' }),
    noneOf(figures.placesShared, {
      en: 'places were given to two users',
      zh: '给了两个用户的位置',
    }),
    noneOf(figures.inversions, {
      en: 'users came later and have an earlier place',
      zh: '后来却排在前面的用户',
    }),
    noneOf(figures.passesTooEarly, {
      en: 'passes were given before their turn',
      zh: '没轮到就发出的通行证',
    }),
    noneOf(figures.passesTooMany, {
      en: 'more users had a pass at a time than may have one',
      zh: '同时持有通行证的用户，超出上限',
    }),
    noneOf(figures.jumpsSold, {
      en: 'purchases were sold without a pass',
      zh: '没有通行证却买到的下单',
    }),
  ];
  const wrong = { broken, missing: sales.flatMap(missing) };
  return {
    ...judgeUnderFire(own, { ...wrong, figures, alsoExpected: ['pass-required'] }),
    faults: countBy(sales.flatMap(({ killed }) => killed)),
  };
}

function lineFigures(sales: readonly WaitedSale[]) {
  const all = (of: (sale: WaitedSale) => number) => sum(sales.map(of));
  return {
    places: all(({ looks }) => new Set(looks.map(({ place }) => place)).size),
    /** A user was asked to wait so often. */
    askedToWait: all(({ looks }) => looks.filter(({ pass }) => pass === undefined).length),
    /** A user had another place than before, and never had a pass for that one. */
    placesLost: all(placesLost),
    /** Places that two users had. */
    placesShared: all(placesShared),
    /** Users who asked after another one was answered, and have an earlier place. */
    inversions: all(inversions),
    /** Passes of places whose turn had not come. */
    passesTooEarly: all(({ looks }) => looks.filter(isTooEarly).length),
    /** How many more users had a pass that they could use, at a time, than may have one. */
    passesTooMany: all((sale) => Math.max(0, mostPasses(sale) - sale.passesAtOnce)),
    /** Purchases that were sold without a pass, and those that were refused. */
    jumpsSold: all((sale) => jumpTries(sale).filter(isSale).length),
    jumpsRefused: all((sale) => jumpTries(sale).filter(isRefusedJump).length),
  };
}

const isTooEarly = ({ pass, place, called }: Look): boolean => pass !== undefined && place > called;
const placeOf = ({ place }: Look): string => String(place);
const hasPass = ({ pass }: Look): boolean => pass !== undefined;
const isRefusedJump = ({ reason }: Try): boolean => reason === 'pass-required';

function jumpTries({ jumps, tries }: WaitedSale): Try[] {
  const ids = new Set(jumps.map(({ requestId }) => requestId));
  return tries.filter(({ requestId }) => ids.has(requestId));
}

function withoutJumps(sale: WaitedSale): Try[] {
  const jumps = new Set(jumpTries(sale));
  return sale.tries.filter((each) => !jumps.has(each));
}

function placesLost({ looks }: WaitedSale): number {
  const ofUsers = [...Map.groupBy(looks, ({ userId }) => userId).values()];
  return ofUsers.flatMap(withoutTurn).length;
}

/** The places that a user had before the last one, and got no pass for. */
function withoutTurn(own: readonly Look[]): string[] {
  const places = [...new Set(own.map(placeOf))].slice(0, -1);
  const had = new Set(own.filter(hasPass).map(placeOf));
  return places.filter((place) => !had.has(place));
}

function placesShared({ looks }: WaitedSale): number {
  const users = [...Map.groupBy(looks, placeOf).values()];
  return users.filter((all) => new Set(all.map(({ userId }) => userId)).size > 1).length;
}

/** By the first answer about each place. */
function inversions({ looks }: WaitedSale): number {
  return inversionsOf([...Map.groupBy(looks, placeOf).values()].flatMap(([look]) => look ?? []));
}

/** From the last place to the first: whether a later place was answered before it was asked for. */
export function inversionsOf(first: readonly FirstLook[]): number {
  const fromTheLast = first.toSorted((one, other) => other.place - one.place);
  let earliestAnswer: bigint | null = null;
  let found = 0;
  for (const { askedAt, answeredAt } of fromTheLast) {
    if (earliestAnswer !== null && earliestAnswer < askedAt) found += 1;
    if (earliestAnswer === null || answeredAt < earliestAnswer) earliestAnswer = answeredAt;
  }
  return found;
}

/** The most passes at a time: each counts from its answer until its user buys, or it lapses. */
function mostPasses(sale: WaitedSale): number {
  const tries = Map.groupBy(sale.tries, ({ userId }) => userId);
  const given = [...Map.groupBy(sale.looks.filter(hasPass), placeOf).values()];
  const moments = given.flatMap(([look]) => (look ? inHand(look, tries.get(look.userId)) : []));
  let passes = 0;
  let most = 0;
  for (const { change } of moments.sort((one, other) => Number(one.at - other.at))) {
    passes += change;
    most = Math.max(most, passes);
  }
  return most;
}

function inHand({ answeredAt, passUntil = answeredAt }: Look, tries: readonly Try[] = []) {
  const used = tries.map(sentAt).filter((at) => at > answeredAt);
  const until = [...used, passUntil].reduce((one, other) => (one < other ? one : other));
  return [
    { at: answeredAt, change: 1 },
    { at: until, change: -1 },
  ];
}

/** Without these, nothing could have gone wrong. */
function missing(sale: WaitedSale): Bilingual[] {
  const { facts, looks, killed } = sale;
  const isKilled = (server: string) => killed.some((kind) => kind.startsWith(`kill ${server}`));
  const isJumpRefused = jumpTries(sale).some(isRefusedJump);
  return allOfName(voucherName(facts), [
    when(looks.every(hasPass), { en: 'nobody had to wait', zh: '没有人需要等' }),
    unless(isJumpRefused, { en: 'nobody tried without a pass', zh: '没有人不带通行证来试' }),
    unless(isKilled('redis-main'), {
      en: 'no redis-main was killed',
      zh: 'redis-main 没有被杀',
    }),
    unless(isKilled('api'), { en: 'no api was killed', zh: '没有 API 实例被杀' }),
  ]);
}

/** What a waiting room did under kills, and the verdict from it. Pure. */
import type { Facts } from '../../service/audit/facts.ts';
import { countBy } from '../stage/count-by.ts';
import type { Judged } from '../stage/result.ts';
import type { Purchase, Try } from '../workload/steady-purchases.ts';
import type { Look } from '../workload/waiting-line.ts';
import { auditAll } from './audited.ts';
import { judgeUnderFire, stormFigures } from './storm-figures.ts';
import { isSale, sentAt } from './try-times.ts';

/** About a place. */
export type FirstLook = Pick<Look, 'place' | 'askedAt' | 'answeredAt'>;

export interface WaitedSale {
  readonly purchases: readonly Purchase[];
  /** Purchases that were tried without a pass. */
  readonly jumps: readonly Purchase[];
  readonly tries: readonly Try[];
  /** Every answer about a place. */
  readonly looks: readonly Look[];
  /** With the tries as attempts. */
  readonly facts: Facts;
  readonly passesAtOnce: number;
  /** What was killed, in order. */
  readonly killed: readonly string[];
}

export function judgeWaitingRoom(sales: readonly WaitedSale[]): Judged {
  const facts = sales.map((sale) => sale.facts);
  const audits = auditAll(facts);
  const purchases = sales.flatMap((sale) => sale.purchases);
  const tries = sales.flatMap(ownTries);
  const storm = stormFigures(purchases, tries, facts, ['pass-required']);
  const figures = { ...storm, ...lineFigures(sales) };
  const wrong = { broken: lineViolations(figures), missing: sales.flatMap(missing) };
  const faults = countBy(sales.flatMap(({ killed }) => killed));
  return { ...judgeUnderFire(storm, audits, wrong), figures, faults };
}

export interface LineFigures {
  readonly places: number;
  /** A user was asked to wait so often. */
  readonly askedToWait: number;
  /** A user had another place than before, and never had a pass for that one. */
  readonly placesLost: number;
  /** Places that two users had. */
  readonly placesShared: number;
  /** Users who asked after another one was answered, and have an earlier place. */
  readonly inversions: number;
  /** Passes of places whose turn had not come. */
  readonly passesTooEarly: number;
  /** How many more users had a pass that they could use, at a time, than may have one. */
  readonly passesTooMany: number;
  /** Purchases that were sold without a pass, and those that were refused. */
  readonly jumpsSold: number;
  readonly jumpsRefused: number;
}

export function lineFigures(sales: readonly WaitedSale[]): LineFigures {
  const sum = (of: (sale: WaitedSale) => number) =>
    sales.reduce((total, sale) => total + of(sale), 0);
  return {
    places: sum(({ looks }) => new Set(looks.map(({ place }) => place)).size),
    askedToWait: sum(({ looks }) => looks.filter(({ pass }) => pass === undefined).length),
    placesLost: sum(placesLost),
    placesShared: sum(placesShared),
    inversions: sum(inversions),
    passesTooEarly: sum(({ looks }) => looks.filter(isTooEarly).length),
    passesTooMany: sum((sale) => Math.max(0, mostPasses(sale) - sale.passesAtOnce)),
    jumpsSold: sum((sale) => jumpTries(sale).filter(isSale).length),
    jumpsRefused: sum((sale) => jumpTries(sale).filter(isRefusedJump).length),
  };
}

const isTooEarly = ({ pass, place, called }: Look): boolean => pass !== undefined && place > called;
const placeOf = ({ place }: Look): string => String(place);
const hasPass = ({ pass }: Look): boolean => pass !== undefined;
const isRefusedJump = ({ reason }: Try): boolean => reason === 'pass-required';

const requestIds = (purchases: readonly Purchase[]) =>
  new Set(purchases.map(({ requestId }) => requestId));

function jumpTries({ jumps, tries }: WaitedSale): Try[] {
  const ids = requestIds(jumps);
  return tries.filter(({ requestId }) => ids.has(requestId));
}

function ownTries({ jumps, tries }: WaitedSale): Try[] {
  const ids = requestIds(jumps);
  return tries.filter(({ requestId }) => !ids.has(requestId));
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

function lineViolations(figures: LineFigures): string[] {
  const counts = [
    [figures.placesLost, 'users lost their place'],
    [figures.placesShared, 'places were given to two users'],
    [figures.inversions, 'users came later and have an earlier place'],
    [figures.passesTooEarly, 'passes were given before their turn'],
    [figures.passesTooMany, 'more users had a pass at a time than may have one'],
    [figures.jumpsSold, 'purchases were sold without a pass'],
  ] as const;
  return counts.filter(([count]) => count > 0).map(([count, text]) => `${count} ${text}`);
}

/** Without these, nothing could have gone wrong. */
function missing(sale: WaitedSale): string[] {
  const { facts, looks, killed } = sale;
  const voucher = `voucher ${facts.voucherId}`;
  const found: string[] = [];
  if (!looks.some(({ pass }) => pass === undefined)) found.push(`${voucher}: nobody had to wait`);
  if (!jumpTries(sale).some(isRefusedJump)) found.push(`${voucher}: nobody tried without a pass`);
  for (const server of ['redis-main', 'api'])
    if (!killed.some((kind) => kind.startsWith(`kill ${server}`)))
      found.push(`${voucher}: no ${server} was killed`);
  return found;
}

/**
 * Every answer was true when it was given: the owner of an order, an earlier order, "sold out".
 * Answers are judged in real time: an answer may only rest on requests that had been sent before
 * it.
 */
import { reopensAfterMs } from '../../domain.ts';
import type { HistoryEvent } from '../../trace/history.ts';
import { type Case, type Check, caseOf, needsAttempts, outcomes } from '../check.ts';
import type { Attempt, Facts, OrderRow } from '../facts.ts';

export const responsesMatchDatabase: Check = {
  name: 'responses-match-database',
  skip: needsAttempts,
  cases: (facts) => [
    ...wrongOwner(facts),
    ...soldOutTooEarly(facts),
    ...orderedTooEarly(facts),
    ...soldAfterSoldOut(facts),
    ...historyDisagrees(facts),
  ],
  evidence: outcomes,
};

/**
 * When each purchase may have happened first, by its request id. A client repeats a request while
 * its outcome is unknown; a refused one took nothing.
 */
function takenTimes(attempts: readonly Attempt[]): Map<string, bigint> {
  const times = new Map<string, bigint>();
  for (const { outcome, requestId, sentAt = 0 } of attempts) {
    const known = times.get(requestId);
    if (outcome === 'refused' || (known !== undefined && known <= BigInt(sentAt))) continue;
    times.set(requestId, BigInt(sentAt));
  }
  return times;
}

/** Without a time, after everything else: then the answer proves nothing. */
const answeredAt = ({ answeredAt: at }: Attempt): bigint => BigInt(at ?? 2n ** 63n);
const ordersOf = ({ orderId }: Attempt): string[] => (orderId === undefined ? [] : [orderId]);

function wrongOwner({ attempts = [], mysql, redis }: Facts): Case[] {
  const owners = new Map(mysql.orders.map(({ id, userId }) => [id, userId]));
  const queued = new Set(redis?.queued);
  const isWrong = ({ outcome, reason, orderId, userId }: Attempt): boolean => {
    if (orderId === undefined) return outcome === 'accepted' || reason === 'already-ordered';
    if (queued.has(orderId)) return false;
    // An accepted order that does not exist is the finding of no-lost-orders.
    if (!owners.has(orderId)) return reason === 'already-ordered';
    return owners.get(orderId) !== userId;
  };
  return attempts.filter(isWrong).map((attempt) => {
    const { userId, orderId, outcome, reason } = attempt;
    const owner = owners.get(orderId ?? '') ?? null;
    return caseOf(
      ['answered-with-foreign-order', userId, reason ?? outcome, orderId, owner],
      ...ordersOf(attempt),
    );
  });
}

/**
 * "Sold out" is true only if as many purchases as there was stock had been sent before it was
 * answered.
 */
function soldOutTooEarly(facts: Facts): Case[] {
  const { initialStock, stocks = [], attempts = [], mysql } = facts;
  const least = Math.min(initialStock, ...stocks); // When it was changed is not judged.
  const replays = mysql.orders.filter(({ replayOf }) => replayOf).length; // They took it again.
  const takers = [...takenTimes(attempts).values()].sort(ascending);
  const returned = returnedBefore(facts);
  return attempts.flatMap((attempt) => {
    if (attempt.reason !== 'sold-out') return [];
    const forSale = least + Math.max(0, returned(attempt) - replays);
    const lastNeeded = forSale === 0 ? 0n : takers[forSale - 1];
    if (lastNeeded !== undefined && answeredAt(attempt) >= lastNeeded) return [];
    const before = takers.filter((at) => at < answeredAt(attempt)).length;
    return [
      {
        evidence: ['sold-out-too-early', attempt.userId, before, forSale],
        severity: forSale - before,
        orders: ordersOf(attempt),
      },
    ];
  });
}

/**
 * How many failed orders had surely given their stock back, for sale, before a request was sent:
 * `reopensAfterMs` ago, or before another purchase that was sent and accepted meanwhile.
 */
function returnedBefore({ attempts = [], history = [], mysql }: Facts): (of: Attempt) => number {
  const gaveBack = ({ status, reason }: OrderRow) =>
    status === 'failed' && reason !== 'stock-short';
  const failed = new Set(mysql.orders.filter(gaveBack).map(({ id }) => id));
  const letters = history.filter(
    ({ event, orderId }) => event === 'dead-lettered' && failed.has(orderId),
  );
  const returnedAt = new Map(letters.map(({ orderId, at }) => [orderId, BigInt(at)]));
  const takenAt = takenTimes(attempts);
  const sales = attempts.filter(({ outcome }) => outcome === 'accepted');
  const reopenedAt = [...returnedAt.values()].map((at) => {
    const later = sales.filter(({ requestId }) => (takenAt.get(requestId) ?? 0n) > at);
    return [at + reopensAfterNs, ...later.map(answeredAt)].sort(ascending)[0] ?? 0n;
  });
  return ({ sentAt = 0 }) => reopenedAt.filter((at) => at < BigInt(sentAt)).length;
}

const reopensAfterNs = BigInt(reopensAfterMs) * 1_000_000n;
const ascending = (one: bigint, other: bigint): number => (one < other ? -1 : Number(one > other));

/**
 * "Already ordered" is true only if the purchase of that order had been sent before it was
 * answered.
 */
function orderedTooEarly({ attempts = [] }: Facts): Case[] {
  const takenAt = takenTimes(attempts);
  const accepted = attempts.filter(({ outcome }) => outcome === 'accepted');
  const orderedAt = new Map(
    accepted.map(({ orderId = '', requestId }) => [orderId, takenAt.get(requestId) ?? 0n]),
  );
  return attempts
    .filter(({ reason }) => reason === 'already-ordered')
    .filter((attempt) => answeredAt(attempt) < (orderedAt.get(attempt.orderId ?? '') ?? 0n))
    .map((attempt) =>
      caseOf(['already-ordered-too-early', attempt.userId, attempt.orderId], ...ordersOf(attempt)),
    );
}

/** After "sold out" nothing is sold, unless stock was added or a failed order gave its own back. */
function soldAfterSoldOut({ attempts = [], mysql, stocks = [] }: Facts): Case[] {
  if (stocks.some((stock, index) => stock > (stocks[index - 1] ?? stock))) return [];
  if (mysql.orders.some(({ status }) => status === 'failed')) return [];
  const soldOut = attempts.filter(({ reason }) => reason === 'sold-out').map(answeredAt);
  const first = soldOut.sort(ascending)[0];
  if (first === undefined) return [];
  const takenAt = takenTimes(attempts);
  const isLater = ({ requestId }: Attempt) => (takenAt.get(requestId) ?? 0n) > first;
  return attempts
    .filter((attempt) => attempt.outcome === 'accepted' && isLater(attempt))
    .map((attempt) =>
      caseOf(['sold-after-sold-out', attempt.orderId, attempt.userId], ...ordersOf(attempt)),
    );
}

/**
 * The history has an outcome that the client was answered. Tries that overlap may each have one.
 * There is none for an answer of nginx, or for a refusal of an instance that could not read the
 * voucher.
 */
function historyDisagrees({ attempts = [], history = [] }: Facts): Case[] {
  const events = history.filter(({ event }) => ['accepted', 'refused', 'unknown'].includes(event));
  const recorded = Map.groupBy(events, ({ requestId }) => requestId);
  return attempts.flatMap((attempt) => {
    if (attempt.outcome === 'unknown' || attempt.instance === 'nginx') return [];
    const all = recorded.get(attempt.requestId) ?? [];
    const own = all.filter(isAbout(attempt));
    const mayHaveNone = own.length === 0 && (all.length === 0 || attempt.outcome === 'refused');
    if (mayHaveNone || own.some(agreesWith(attempt))) return [];
    const last = own.at(-1);
    const inHistory = last ? { outcome: String(last.event), orderId: last.orderId } : null;
    return [
      caseOf(
        ['history-says-another-outcome', attempt.requestId, answerOf(attempt), inHistory],
        ...all.slice(-1).map(({ orderId }) => orderId),
      ),
    ];
  });
}

/** An accepted purchase is also the same order. */
const agreesWith =
  ({ outcome, orderId }: Attempt) =>
  (event: HistoryEvent): boolean =>
    event.event === outcome && (outcome !== 'accepted' || event.orderId === orderId);

const answerOf = ({ outcome, orderId }: Attempt) => ({ outcome, orderId });

/** Of the same instance, where it is known. It records its outcome before it answers. */
const isAbout =
  (attempt: Attempt) =>
  ({ at, instance }: HistoryEvent): boolean =>
    (attempt.instance ?? instance) === instance &&
    BigInt(attempt.sentAt ?? 0) <= BigInt(at) &&
    BigInt(at) <= answeredAt(attempt);

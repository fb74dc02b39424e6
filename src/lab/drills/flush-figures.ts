/**
 * The verdict about a FLUSHALL in the middle of a rush. An order that was accepted before it, and
 * that no store has, is lost: that is counted, and claimed. Everything else must hold. Pure.
 */
import { audit } from '../../service/audit/audit.ts';
import {
  type Attempt,
  confirmed,
  type Facts,
  usersWithSeveralOrders,
} from '../../service/audit/facts.ts';
import type { Judged } from '../stage/result.ts';
import { drillVerdict, findingsOf, lostSales, notHeldTexts } from './audited.ts';
import { answeredAt, firstAfterMs, hasSaleSince, isSale, msBetween, sentAt } from './try-times.ts';

export interface FlushSeen {
  /** With the attempts of all clients. */
  readonly facts: Facts;
  /** Before FLUSHALL was sent, and after it was answered. */
  readonly flushAt: bigint;
  readonly flushedAt: bigint;
  /** When the rebuild was begun, and when it was done. */
  readonly rebuildAt: bigint;
  readonly rebuiltAt: bigint;
  /** Whether Redis and MySQL agree in the end. */
  readonly isConsistent: boolean;
}

/** Without every answer that names a lost order: they are claimed. */
function withoutLost(facts: Facts): Facts {
  const lost = new Set(lostSales(facts).map(({ orderId }) => orderId));
  const attempts = (facts.attempts ?? []).filter(
    ({ orderId }) => orderId === undefined || !lost.has(orderId),
  );
  return { ...facts, attempts };
}

export function judgeFlush(seen: FlushSeen): Judged {
  const { facts, flushAt, flushedAt, rebuiltAt } = seen;
  const audited = { facts, audit: audit(withoutLost(facts)) };
  const lost = lostSales(facts);
  const sales = (facts.attempts ?? []).filter(isSale);
  const orders = confirmed(facts).length;
  const verdict = drillVerdict([audited.audit.verdict], {
    broken: violations(seen, lost),
    audited: notHeldTexts(findingsOf(audited)),
    missing: missingParts(seen, lost),
  });
  const figures = {
    ...{ accepted: sales.length, recorded: orders, lostAccepted: lost.length },
    oversold: Math.max(0, orders - facts.initialStock),
    usersWithTwoOrders: usersWithSeveralOrders(facts),
    refusedNotReady: refusals(seen).length,
    withoutSalesMs: msBetween(flushedAt, rebuiltAt),
    ...resumed(sales, rebuiltAt),
  };
  const claimed = `${lost.length} accepted orders were in Redis alone when it lost its keys, ${ms(flushAt, flushedAt)}; they are lost, and their units were sold again`;
  return {
    ...verdict,
    figures,
    asClaimed: lost.length > 0 ? [claimed] : [],
    lost: lost.flatMap(({ orderId = [] }) => orderId),
    facts: verdict.verdict === 'held' ? [] : [facts],
  };
}

const ms = (from: bigint, to: bigint): string => `within ${msBetween(from, to)} ms`;

function resumed(sales: readonly Attempt[], rebuiltAt: bigint): Record<string, number> {
  const after = firstAfterMs(sales.map(answeredAt), rebuiltAt);
  return after === null ? {} : { soldAgainAfterMs: after };
}

/** Of purchases that were sent while Redis was empty or being rebuilt. */
function refusals({ facts, flushedAt, rebuiltAt }: FlushSeen): Attempt[] {
  return (facts.attempts ?? []).filter(
    (each) =>
      each.reason === 'not-ready' && sentAt(each) >= flushedAt && answeredAt(each) < rebuiltAt,
  );
}

function violations({ facts, ...seen }: FlushSeen, lost: readonly Attempt[]): string[] {
  const { flushedAt, rebuildAt, isConsistent } = seen;
  const sales = (facts.attempts ?? []).filter(isSale);
  const early = sales.filter(
    (each) => sentAt(each) >= flushedAt && answeredAt(each) < rebuildAt,
  ).length;
  const late = lost.filter((each) => sentAt(each) >= flushedAt).length;
  const found: string[] = [];
  if (early > 0) found.push(`${early} purchases were accepted before Redis was rebuilt`);
  if (late > 0) found.push(`${late} orders are lost that were accepted after the rebuild`);
  if (!isConsistent) found.push('Redis and MySQL do not agree in the end');
  return found;
}

/** Without these, nothing could have gone wrong. */
function missingParts(seen: FlushSeen, lost: readonly Attempt[]): string[] {
  const { facts, flushAt, rebuiltAt } = seen;
  const { attempts = [], initialStock } = facts;
  const before = attempts.filter((each) => isSale(each) && answeredAt(each) < flushAt);
  const missing: string[] = [];
  if (before.length <= lost.length) missing.push('no order was recorded before the flush');
  if (lost.length === 0) missing.push('no accepted order was in Redis alone at the flush');
  if (refusals(seen).length === 0) missing.push('nobody bought while Redis was rebuilt');
  if (!hasSaleSince(attempts, rebuiltAt)) missing.push('nobody bought after the rebuild');
  if (confirmed(facts).length < initialStock) missing.push('the voucher is not sold out');
  return missing;
}

/** A steady load on one rung, while somebody breaks its servers by hand; then the audit. */
import type { Facts } from '../../audit/facts.ts';
import type { CheckName } from '../../domain.ts';
import type { Rung } from '../../ladder/rung.ts';
import { type RungName, rungNamed } from '../../ladder/rungs.ts';
import { auditAll, factsNotHeld, findingsOf, findingText } from '../drills/audited.ts';
import { warmRung } from '../drills/warm-rung.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import type { Experiment } from '../stage/experiment.ts';
import type { Judged } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';
import type { Purchase } from '../workload/steady-purchases.ts';
import { Hand } from './hand.ts';
import { watchLocks } from './watch-locks.ts';
import { watchSale } from './watch-sale.ts';
import { watchServers } from './watch-servers.ts';

export interface BreakOptions {
  readonly rung: RungName;
  readonly perSecond: number;
  /** It ends earlier when it is asked to. */
  readonly minutes: number;
}

/** Every store is behind its proxy: so each can be slowed, and cut off. */
const shape: ServiceShape = { instances: 4, balancer: 'nginx', network: 'proxied' };
/** A faster sale keeps no history: its locks are not audited, only its data. */
const mostWithHistory = 400;
const withoutHistory = { ...shape, settings: { HISTORY_FOLDER: '' } };
/** The audit reads all of them at once. */
const mostPurchases = 200_000;
const warmSeed = 1;
const finishWithinMs = 20_000;
const drainWithinMs = 60_000;

export const breakIt: Experiment<BreakOptions> = {
  about: 'steady purchases on one rung, while somebody breaks and mends its servers by hand',
  async play(stage, { rung, perSecond, minutes }) {
    await stage.serve(perSecond > mostWithHistory ? withoutHistory : shape);
    await warmRung(stage, rung, warmSeed);
    const lastsMs = Math.min(minutes * 60_000, (mostPurchases / perSecond) * 1_000);
    if (lastsMs < minutes * 60_000)
      stage.note(`It ends after ${mostPurchases} purchases: in ${Math.round(lastsMs / 1_000)} s.`);
    const stock = Math.ceil(((lastsMs + finishWithinMs) / 1_000) * perSecond);
    const voucherId = await stage.putOnSale({ title: `by hand on ${rung}`, stock, rung });
    const hasHistory = perSecond <= mostWithHistory;
    const unwatch = [
      watchServers(stage),
      watchLocks(stage, { rung: rungNamed(rung), voucherId, hasHistory }),
    ];
    try {
      const lastCounts = await sellUntilEnded(stage, voucherId, { rung, perSecond, lastsMs });
      const facts = await stage.facts(voucherId, drainWithinMs);
      await lastCounts();
      return judge(rung, facts);
    } finally {
      for (const end of unwatch) end();
    }
  },
};

interface Lasting extends Pick<BreakOptions, 'rung' | 'perSecond'> {
  readonly lastsMs: number;
}

/**
 * What is broken at the end is mended before the last answers are waited for.
 * @returns what counts the sale for the last time
 */
async function sellUntilEnded(
  stage: Stage,
  voucherId: string,
  { rung, perSecond, lastsMs }: Lasting,
): Promise<() => Promise<void>> {
  const ending = new AbortController();
  const purchases = buyers(voucherId, ending.signal);
  const load = { name: rung, perSecond, purchases, finishWithinMs };
  const hand = new Hand(stage);
  return stage.during(load, async (tries) => {
    const lastCounts = watchSale(stage, { voucherId, rung: rungNamed(rung), tries });
    try {
      await hand.takeUntil(lastsMs);
      ending.abort();
      await hand.healAll();
      return lastCounts;
    } catch (error) {
      await lastCounts();
      throw error;
    } finally {
      ending.abort();
    }
  });
}

/** One user after the other; every tenth sends a second purchase right after. */
function* buyers(voucherId: string, ending: AbortSignal): Generator<Purchase> {
  for (let user = 1; !ending.aborted; user++)
    for (let time = 1; time <= (user % 10 === 0 ? 2 : 1); time++)
      yield { voucherId, userId: String(user), requestId: `hand-${voucherId}-${user}-${time}` };
}

/** A buyer who comes back is answered with the order that was lost: no answer can be right then. */
function checksThatBreak({ breaks }: Rung): readonly CheckName[] {
  const checks = breaks.map(({ check }) => check);
  return checks.includes('no-lost-orders') ? [...checks, 'responses-match-database'] : checks;
}

/** Somebody may have broken what the rung says breaks it: that is as claimed. */
function judge(rung: RungName, facts: Facts): Judged {
  const audits = auditAll([facts]);
  const findings = audits.flatMap(findingsOf);
  const claimed = checksThatBreak(rungNamed(rung));
  const violated = findings.filter(({ finding }) => finding.verdict === 'violated');
  const unknown = findings.filter(({ finding }) => finding.verdict === 'unknown');
  const own = violated.filter(({ finding }) => claimed.includes(finding.check));
  const others = violated.filter(({ finding }) => !claimed.includes(finding.check));
  const verdict = violated.length > 0 ? 'violated' : unknown.length > 0 ? 'unknown' : 'held';
  const { attempts = [], mysql } = facts;
  return {
    verdict,
    isAsClaimed: others.length === 0,
    reasons: [...others, ...unknown].map(findingText),
    asClaimed: own.map(findingText),
    figures: {
      attempts: attempts.length,
      recorded: mysql.orders.filter(({ status }) => status === 'confirmed').length,
      violations: violated.reduce((sum, { finding }) => sum + finding.count, 0),
    },
    facts: factsNotHeld(audits),
  };
}

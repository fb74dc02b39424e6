/**
 * One lock server stands still (SIGSTOP) while fifty requests of one user wait for one lock. A lock
 * that needs a majority sells on; one that needs every server refuses, in time.
 */

import type { Attempt, Facts } from '../../service/audit/facts.ts';
import type { RungName } from '../../service/ladder/rungs.ts';
import type { Bilingual } from '../../texts/texts.ts';
import { defaultShape } from '../environment/lab.ts';
import { pauseServer } from '../faults/process.ts';
import type { Judged } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';
import { auditAll, findingsOf } from './audited.ts';
import type { Drill } from './drill.ts';
import { allOfName, judgeAudits, unless, when } from './expectations.ts';
import { lockServiceOf, sellsWithout } from './lock-outages.ts';
import { phaseOf, phaseTable } from './phases.ts';
import { isSale } from './try-times.ts';

const rungs = ['redlock', 'multilock'] as const;
const crowd = 50;
/** The first owner is inside for so long: the others wait. */
const workMs = 200;

const backWithinMs = 10_000;
/** More than twice what a request may wait for the lock and for an answer of its servers. */
const refusedWithinMs = 10_000;

/** What the crowd, and one user after it, were answered. */
export interface Crowd {
  readonly rung: RungName;
  /** The claim: what is left is enough to sell. */
  readonly sells: boolean;
  readonly attempts: readonly Attempt[];
  /** So many requested the lock before its first owner released it. */
  readonly waiting: number;
  /** The last one was not told that the lock is away. */
  readonly after: readonly Attempt[];
}

export const hungMaster: Drill = {
  about: {
    en: 'one of three masters hangs while 50 wait for a lock, under redlock and multilock',
    zh: '50 个请求等锁时，三个主节点之一挂起：redlock 和 multilock',
  },
  takesMinutes: 0.5,
  async play(stage, { seed }) {
    await stage.serve(defaultShape);
    const crowds: Crowd[] = [];
    const facts: Facts[] = [];
    for (const rung of rungs) {
      const played = await crowdOn(stage, rung, seed);
      crowds.push(played.crowd);
      facts.push(played.facts);
    }
    return judge(crowds, facts);
  },
};

async function crowdOn(stage: Stage, rung: RungName, seed: number) {
  const service = lockServiceOf(rung);
  const hung = service.servers[seed % service.servers.length] ?? '';
  await stage.warmUp(rung, seed);
  const sale = { title: `hung-master, seed ${seed}`, stock: 10, rung, lab: { workMs } };
  const voucherId = await stage.putOnSale(sale);
  const undo = await stage.inject(pauseServer(hung));
  stage.emit({ kind: 'load-started', name: rung });
  const requests = Array.from({ length: crowd }, (_, index) =>
    stage.buy({ voucherId, userId: '7', requestId: `crowd-${index}-${voucherId}` }),
  );
  const attempts = await Promise.all(requests);
  await undo();
  const after = await untilAnswered(stage, voucherId);
  stage.emit({ kind: 'load-ended', name: rung });
  const facts = await stage.facts(voucherId);
  const sells = sellsWithout(service, 1);
  const seen = { rung, sells, attempts, after, waiting: waitingIn(facts) };
  return { crowd: seen, facts };
}

/** Clients connect again to the server that hung. Until then a lock may refuse, and say so. */
async function untilAnswered(stage: Stage, voucherId: string): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  const isAnswered = async () => {
    const requestId = `after-${attempts.length}-${voucherId}`;
    const attempt = await stage.buy({ voucherId, userId: '8', requestId });
    attempts.push(attempt);
    return !isAway(attempt);
  };
  const answered = stage.until('the lock service', backWithinMs, isAnswered);
  await answered.catch(() => stage.signal.throwIfAborted()); // The verdict says it.
  return attempts;
}

function waitingIn({ history = [] }: Pick<Facts, 'history'>): number {
  const released = history.findIndex(({ event }) => event === 'releasing');
  const before = released < 0 ? history : history.slice(0, released);
  return before.filter(({ event }) => event === 'requested').length - 1;
}

const crowdPhase = { en: '1 hung, 50 wait', zh: '1 台挂起，50 个在等' };

function judge(crowds: readonly Crowd[], facts: readonly Facts[]): Judged {
  const audits = auditAll(facts);
  // Without `progress`: fifty requests contend for one lock, and a round of redlock may end with no
  // majority for anybody.
  const findings = audits.flatMap(findingsOf).filter(({ finding }) => finding.check !== 'progress');
  const figures = crowds.flatMap(({ rung, attempts, waiting }) => [
    [`${rung} waiting`, waiting] as const,
    [`${rung} slowest answer ms`, slowestMs(attempts)] as const,
  ]);
  const wrong = { broken: crowds.flatMap(brokenIn), missing: crowds.flatMap(missingIn) };
  return {
    ...judgeAudits(audits, wrong, findings),
    figures: Object.fromEntries(figures),
    tables: [phaseTable(crowds.map(({ rung, attempts }) => phaseOf(rung, crowdPhase, attempts)))],
  };
}

const slowestMs = (attempts: readonly Attempt[]): number =>
  Math.round(Math.max(...attempts.map(({ latencyMs }) => latencyMs)));

const isAway = ({ reason }: Attempt): boolean => reason === 'lock-service-unavailable';

/** Against the claim of the rung. */
export function brokenIn({ rung, sells, attempts, after }: Crowd): Bilingual[] {
  const sold = attempts.filter(isSale).length;
  const away = attempts.filter(isAway).length;
  const slowest = slowestMs(attempts);
  const last = after.at(-1);
  const all = attempts.length;
  const wrongWhereItSells = [
    unless(sold === 1, {
      en: `${sold} of ${all} were accepted, not 1`,
      zh: `${all} 个里受理了 ${sold} 个，不是 1 个`,
    }),
    unless(away === 0, {
      en: `${away} were refused although a majority answers`,
      zh: `多数服务器有响应，却拒绝了 ${away} 个`,
    }),
  ];
  const wrongWhereItMayNot = [
    unless(sold === 0, {
      en: `${sold} were accepted without every server`,
      zh: `缺一台服务器，却受理了 ${sold} 个`,
    }),
    when(sold === 0 && away < all, {
      en: `only ${away} of ${all} learned that the lock is away`,
      zh: `${all} 个里只有 ${away} 个得知锁不可用`,
    }),
    unless(slowest <= refusedWithinMs, {
      en: `a refusal took ${slowest} ms, the limit is ${refusedWithinMs} ms`,
      zh: `有一次拒绝用了 ${slowest} ms，上限 ${refusedWithinMs} ms`,
    }),
  ];
  const again = unless(last !== undefined && isSale(last), {
    en: `nobody could buy afterwards (${last?.reason})`,
    zh: `之后没有人能买到（${last?.reason}）`,
  });
  return allOfName(rung, [...(sells ? wrongWhereItSells : wrongWhereItMayNot), again]);
}

/** A crowd that did not wait shows nothing. */
export const missingIn = ({ rung, sells, waiting }: Crowd): Bilingual[] =>
  allOfName(rung, [
    when(sells && waiting < crowd / 2, {
      en: `only ${waiting} requests waited for the lock`,
      zh: `只有 ${waiting} 个请求在等锁`,
    }),
  ]);

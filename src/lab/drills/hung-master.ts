/**
 * One lock server stands still (SIGSTOP) while fifty requests of one user wait for one lock. A lock
 * that needs a majority sells on; one that needs every server refuses, in time.
 */
import { Agent } from 'undici';
import type { Attempt, Facts } from '../../audit/facts.ts';
import { countBy } from '../../grouping.ts';
import { signToken } from '../../http/tokens.ts';
import type { RungName } from '../../ladder/rungs.ts';
import { defaultShape, type Lab } from '../environment/lab.ts';
import { waitUntil } from '../environment/wait-until.ts';
import { pauseServer } from '../faults/pause-server.ts';
import { buyOnce } from '../workload/buy-once.ts';
import { putOnSale } from '../workload/create-voucher.ts';
import { collectSale, warmRung } from './around-load.ts';
import { auditAll, drillVerdict, factsNotHeld, findingsOf, notHeldTexts } from './audited.ts';
import type { Drill, DrillOptions, DrillResult } from './drill.ts';
import { phaseOf, sellsWithout } from './outages.ts';
import { inject } from './recorded.ts';
import { lockServiceOf } from './sell-through.ts';
import type { Recorder } from './timeline.ts';
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
  /** For people: `pause redis-1`. */
  readonly fault: string;
  /** The claim: what is left is enough to sell. */
  readonly sells: boolean;
  readonly attempts: readonly Attempt[];
  /** So many requested the lock before its first owner released it. */
  readonly waiting: number;
  /** The last one was not told that the lock is away. */
  readonly after: readonly Attempt[];
}

export const hungMaster: Drill = {
  about: 'one of three masters hangs while 50 wait for a lock: redlock sells on, multilock refuses',
  async run(lab, options) {
    await lab.ensure(defaultShape);
    const crowds: Crowd[] = [];
    const facts: Facts[] = [];
    for (const rung of rungs) {
      const played = await play(lab, rung, options);
      crowds.push(played.crowd);
      facts.push(played.facts);
    }
    return judge(crowds, facts);
  },
};

async function play(lab: Lab, rung: RungName, { seed, recorder }: DrillOptions) {
  const tokenSecret = lab.tokenSecret;
  const { instances } = lab.shape;
  const service = lockServiceOf(rung);
  const hung = service.servers[seed % service.servers.length] ?? '';
  await warmRung(lab, rung, seed);
  const sale = { title: `hung-master, seed ${seed}`, stock: 10, rung, lab: { workMs } };
  const voucherId = await putOnSale(lab.baseUrl, tokenSecret, instances, sale);
  const buy = buyer(lab, voucherId, tokenSecret, recorder);
  const fault = pauseServer(hung);
  const undo = await inject(lab, fault, recorder);
  recorder.loadStarted(rung);
  const requests = Array.from({ length: crowd }, (_, index) => buy.as('7', `crowd-${index}`));
  const attempts = await Promise.all(requests).finally(undo);
  const after = await untilAnswered(buy);
  recorder.loadEnded(rung);
  await buy.close();
  const facts = await collectSale(lab, voucherId, [...attempts, ...after]);
  const sells = sellsWithout(service, 1);
  return {
    crowd: { rung, fault: fault.name, sells, attempts, after, waiting: waitingIn(facts) },
    facts,
  };
}

function buyer(lab: Lab, voucherId: string, tokenSecret: string, recorder: Recorder) {
  const agent = new Agent({ connections: crowd, headersTimeout: 30_000 });
  const url = `${lab.baseUrl}/vouchers/${voucherId}/orders`;
  return {
    as: async (userId: string, name: string): Promise<Attempt> => {
      const token = await signToken(tokenSecret, userId, 'user');
      const intent = { userId, requestId: `${name}-${voucherId}` };
      const attempt = await buyOnce(agent, url, intent, token);
      recorder.attempt(attempt);
      return attempt;
    },
    close: () => agent.destroy(),
  };
}

/** Clients connect again to the server that hung. Until then a lock may refuse, and say so. */
async function untilAnswered(buy: ReturnType<typeof buyer>): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  const isAnswered = async () => {
    const attempt = await buy.as('8', `after-${attempts.length}`);
    attempts.push(attempt);
    return !isAway(attempt);
  };
  await waitUntil('the lock service', backWithinMs, isAnswered).catch(() => {}); // The verdict says.
  return attempts;
}

function waitingIn({ history = [] }: Pick<Facts, 'history'>): number {
  const released = history.findIndex(({ event }) => event === 'releasing');
  const before = released < 0 ? history : history.slice(0, released);
  return before.filter(({ event }) => event === 'requested').length - 1;
}

function judge(crowds: readonly Crowd[], facts: readonly Facts[]): DrillResult {
  const audits = auditAll(facts);
  // Without `progress`: fifty requests contend for one lock, and a round of redlock may end with no
  // majority for anybody.
  const findings = audits.flatMap(findingsOf).filter(({ finding }) => finding.check !== 'progress');
  const figures = crowds.flatMap(({ rung, attempts, waiting }) => [
    [`${rung} waiting`, waiting] as const,
    [`${rung} slowest answer ms`, slowestMs(attempts)] as const,
  ]);
  return {
    ...drillVerdict(
      findings.map(({ finding }) => finding.verdict),
      {
        broken: crowds.flatMap(brokenIn),
        audited: notHeldTexts(findings),
        missing: crowds.flatMap(missingIn),
      },
    ),
    figures: Object.fromEntries(figures),
    phases: crowds.map(({ rung, attempts }) => phaseOf(rung, '1 hung, 50 wait', attempts)),
    faults: countBy(crowds.map(({ fault }) => fault)),
    facts: factsNotHeld(audits),
  };
}

const slowestMs = (attempts: readonly Attempt[]): number =>
  Math.round(Math.max(...attempts.map(({ latencyMs }) => latencyMs)));

const isAway = ({ reason }: Attempt): boolean => reason === 'lock-service-unavailable';

/** Against the claim of the rung. */
export function brokenIn({ rung, sells, attempts, after }: Crowd): string[] {
  const sold = attempts.filter(isSale).length;
  const away = attempts.filter(isAway).length;
  const found: string[] = [];
  if (sells && sold !== 1)
    found.push(`${rung}: ${sold} of ${attempts.length} were accepted, not 1`);
  if (sells && away > 0) found.push(`${rung}: ${away} were refused although a majority answers`);
  if (!sells && sold > 0) found.push(`${rung}: ${sold} were accepted without every server`);
  if (!sells && sold === 0 && away < attempts.length)
    found.push(`${rung}: only ${away} of ${attempts.length} learned that the lock is away`);
  const slowest = slowestMs(attempts);
  if (!sells && slowest > refusedWithinMs)
    found.push(`${rung}: a refusal took ${slowest} ms, the limit is ${refusedWithinMs} ms`);
  const last = after.at(-1);
  if (!last || !isSale(last)) found.push(`${rung}: nobody could buy afterwards (${last?.reason})`);
  return found;
}

/** A crowd that did not wait shows nothing. */
export const missingIn = ({ rung, sells, waiting }: Crowd): string[] =>
  sells && waiting < crowd / 2 ? [`${rung}: only ${waiting} requests waited for the lock`] : [];

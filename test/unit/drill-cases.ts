/** What the tests of the drills share: tries by hand, and a table of cases for each verdict. */

import { expect, test } from 'vitest';
import type { SeenOutage, Timeline } from '../../src/lab/drills/expectations.ts';
import { type Away, type LockOutage, lockOutage } from '../../src/lab/drills/lock-outages.ts';
import { figuresInChinese } from '../../src/lab/report/figure-names.ts';
import { figureRows } from '../../src/lab/report/verdict-words.ts';
import type { Judged } from '../../src/lab/stage/result.ts';
import type { Try } from '../../src/lab/workload/steady-purchases.ts';
import type { Attempt } from '../../src/service/audit/facts.ts';
import type { Verdict } from '../../src/service/domain.ts';
import type { RungName } from '../../src/service/ladder/rungs.ts';
import type { Bilingual } from '../../src/texts/texts.ts';
import { timed } from './facts.ts';

export const at = (ms: number): bigint => BigInt(ms) * 1_000_000n;

export const tried = (attempt: Attempt, sentMs: number, answeredMs = sentMs + 1): Try => ({
  ...{ voucherId: '9', ...timed(attempt, sentMs, answeredMs) },
});

type Answer = Pick<Try, 'outcome' | 'reason'>;
export const sold: Answer = { outcome: 'accepted' };
export const away: Answer = { outcome: 'refused', reason: 'lock-service-unavailable' };

/** Four seconds: a request of another user each 100 ms, answered 5 ms later. */
export const load = (answer: (ms: number) => Answer): Try[] =>
  Array.from({ length: 40 }, (_, index) => {
    const user = { userId: String(1_001 + index), requestId: `load-${index}`, latencyMs: 5 };
    return tried({ ...user, ...answer(index * 100) }, index * 100, index * 100 + 5);
  });

/** From 1 s to 2 s; it sells again at 2.3 s. */
export const outOfService: Timeline = {
  ...{ calmFrom: at(0), brokenAt: at(990), downFrom: at(1_000), downUntil: at(2_000) },
  ...{ mendedAt: at(2_100), until: at(4_000), recordedAt: null, nextRecordedAt: null },
  ...{ waitingMost: 0, looks: [], exitCodes: [], leftLocks: 0 },
  tries: load((ms) => (ms >= 1_000 && ms < 2_300 ? away : sold)),
};

/** So many lock servers of a rung are stopped. */
export const rowOf = (rung: RungName, servers: readonly string[], away: Away = 'stopped') =>
  lockOutage({ servers, away }, { rung, partMs: 1_000, soldAgainWithinMs: 2_000 });

export const stopped: SeenOutage<LockOutage> = {
  ...outOfService,
  row: rowOf('multilock', ['redis-2']),
};

type Cases<Changes> = Readonly<Record<string, Changes>>;

type Verdicts = Pick<Judged, 'verdict' | 'reasons'> & Partial<Pick<Judged, 'figures'>>;

/** A sentence that no reader of Chinese sees. */
export const said = (en: string): Bilingual => ({ en, zh: '不给人看' });

/** Every reason must be there in Chinese, too; what k6 prints is as k6 says it. */
function inEnglish({ verdict, reasons, figures = {} }: Verdicts) {
  // One that has the name of a rung, or a number, in its name is as it is recorded.
  const named = Object.entries(figures).filter(([name]) => !name.includes(' '));
  for (const [name] of figureRows(Object.fromEntries(named), 'zh', figuresInChinese))
    expect.soft(name).toMatch(/\p{Script=Han}/u);
  for (const { en, zh } of reasons.filter((each) => !each.en.startsWith('k6'))) {
    expect.soft(zh, en).toMatch(/\p{Script=Han}/u);
    expect.soft(zh, en).not.toMatch(/\b[a-z]{2,} [a-z]{2,} [a-z]{2,}\b/);
  }
  return { verdict, reasons: reasons.map(({ en }) => en) };
}

/** @param judge what a drill has seen with these changes; without one it must be held. */
export const verdictsOf = <Changes>(drill: string, judge: (changes: Changes) => Verdicts) => ({
  /** Each key says what is different, and does not matter. */
  holds(cases: Cases<Changes>) {
    test.each(Object.entries(cases))(`${drill} is held when %s`, (_, changes) => {
      expect(judge(changes)).toMatchObject({ verdict: 'held', reasons: [] });
    });
  },

  /** Each key is the only reason; with `…`, a part of it. */
  is(wanted: Verdict, cases: Cases<Changes>) {
    test.each(Object.entries(cases))(`${drill} is ${wanted}: %s`, (reason, changes) => {
      const { verdict, reasons } = inEnglish(judge(changes));
      const part = reason.replaceAll('…', '');
      const one = part === reason ? reason : expect.stringContaining(part);
      expect({ verdict, reasons }).toEqual({ verdict: wanted, reasons: [one] });
    });
  },

  /** Each key is one of the reasons, or a part of one. */
  isAlso(wanted: Verdict, cases: Cases<Changes>) {
    test.each(Object.entries(cases))(`${drill} is ${wanted}, also: %s`, (reason, changes) => {
      const { verdict, reasons } = inEnglish(judge(changes));
      expect(verdict).toBe(wanted);
      expect(reasons.join('\n')).toContain(reason);
    });
  },
});

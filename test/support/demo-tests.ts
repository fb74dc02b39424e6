/** The tests of the demo's parts: `npm test` has some of them, test/long the others. */
import { describe, expect, test } from 'vitest';
import type { RaceOnRung } from '../../src/lab/drills/demo-plan.ts';
import { pausesReached, type RunRequest, runRung } from '../../src/lab/drills/run-rung.ts';
import type { ServiceShape } from '../../src/lab/environment/servers/service.ts';
import { raceOn, shapeOfRace } from '../../src/lab/play/race-on.ts';
import { eventsOfRace } from '../../src/lab/play/race-verdict.ts';
import { raceText } from '../../src/lab/report/race-text.ts';
import { emitter, type StageEvent } from '../../src/lab/stage/events.ts';
import { type Stage, withStage } from '../../src/lab/stage/stage.ts';
import { theLab } from './own-lab.ts';

/** Played through nginx on real instances. */
export function testRaces(pairs: readonly RaceOnRung[]): void {
  const lab = theLab(null);

  const sorted = byShape(pairs, ({ race }) => shapeOfRace(race));
  const named = sorted.map(({ race, rung }) => [race, rung] as const);

  describe.each(named)('%s on %s', (race, rung) => {
    test('is as claimed, with its proof', async () => {
      const { signal } = new AbortController();
      const events: StageEvent[] = [];
      const emit = emitter([(event) => events.push(event)]);
      const play = (stage: Stage) => raceOn(stage, race, rung);
      const result = await withStage(lab(), signal, play, emit);
      const said = `${result.verdict}: ${result.evidence}`;
      expect(result, said).toMatchObject({ verdict: result.claim, asClaimed: true });
      const text = raceText(result);
      expect(text.split('\n').filter((line) => [...line].length > 80)).toEqual([]);
      expect(text.includes('✗')).toBe(result.verdict === 'violated');
      const isProven = (result.proof?.events.length ?? 0) >= 2;
      expect(isProven).toBe(result.verdict === 'violated');
      const told = eventsOfRace(result).map(withoutTime);
      expect(events.filter(isOfRace).map(withoutTime).slice(-told.length)).toEqual(told);
    });
  });
}

const isOfRace = ({ kind }: StageEvent) => ['race', 'step', 'race-judged'].includes(kind);
const withoutTime = ({ number: _, at: __, ...event }: StageEvent) => event;

/** Those of one shape after each other: every change of the shape restarts the service. */
function byShape<T>(all: readonly T[], shapeOf: (each: T) => ServiceShape): T[] {
  const textOf = (each: T) => {
    const { network, instances, balancer } = shapeOf(each);
    return [network, instances, balancer].join();
  };
  return all.toSorted((one, other) => textOf(one).localeCompare(textOf(other)));
}

export function testRushes(requests: readonly RunRequest[]): void {
  const lab = theLab(null);
  const sorted = byShape(requests, (request) => request);

  describe.each(sorted)('$rung on $instances behind $balancer', (request) => {
    test('is as claimed', async () => {
      const { signal } = new AbortController();
      const run = await withStage(lab(), signal, (stage) => runRung(request, stage));
      const { result, audit } = run;
      expect(audit.findings.filter(({ verdict }) => verdict === 'unknown')).toEqual([]);
      const violated = audit.findings.filter(({ verdict }) => verdict === 'violated');
      const said = JSON.stringify({ violated, refused: result.refusedBecause });
      expect(result, said).toMatchObject({ verdict: result.claim, asClaimed: true });
      expect(result.attempts.unknown).toBe(0);
      expect(pausesReached(run)).toBe(true);
    });
  });
}

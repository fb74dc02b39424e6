/** A test of the soak: faults at checkpoints while lua-stream sells; nothing is lost. */
import { expect, test } from 'vitest';
import { Timeline } from '../../src/lab/drills/timeline.ts';
import { coverageText } from '../../src/lab/report/coverage-text.ts';
import { drillText } from '../../src/lab/report/drill-text.ts';
import { targets } from '../../src/lab/soak/cells.ts';
import { soak, soakShape } from '../../src/lab/soak/soak.ts';
import { Steering } from '../../src/lab/soak/steering.ts';
import { theLab } from './the-lab.ts';

const seed = 11;

export function testSoak(minutes: number): void {
  const lab = theLab(soakShape);

  test(
    'lua-stream sells and records every order once, with a fault at each checkpoint',
    async () => {
      const told: string[] = [];
      const { facts, coverage, played, ...result } = await soak(lab(), {
        ...{ seed, minutes, isGated: false },
        ...{ progress: (line) => told.push(line), recorder: new Timeline() },
        signal: AbortSignal.timeout(minutes * 60_000 + 240_000),
      });
      const text = [drillText(result), coverageText(coverage), ...told].join('\n');
      expect(result, text).toMatchObject({ verdict: 'held', reasons: [] });
      expect(facts).toEqual([]);
      const { sold, recorded, accepted, lost, unresolved } = result.figures;
      expect({ recorded, accepted, lost, unresolved }, text).toEqual({
        ...{ recorded: sold, accepted: sold, lost: 0, unresolved: 0 },
      });
      expect(sold).toBeGreaterThan(0);
      expect(told).toHaveLength(played.length);

      const again = new Steering(targets, seed); // What was seen and the seed: the same faults.
      for (const { text: what, cells } of played) {
        const { fault, state } = again.next().target;
        expect(what.replace(' (missed)', '')).toMatch(new RegExp(`^${fault} at .*; ${state}$`));
        again.saw(cells);
      }
    },
    minutes * 60_000 + 300_000,
  );
}

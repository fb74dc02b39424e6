/** Two rungs under three faults: a short scoreboard, from real servers. */
import { expect, test } from 'vitest';
import { scoreboardText } from '../../../src/lab/report/scoreboard-text.ts';
import { agreement, worstOutcome } from '../../../src/lab/scoreboard/cell.ts';
import { scoreboardExperiment } from '../../../src/lab/scoreboard/play-all.ts';
import { playIn } from '../../support/judged-drill.ts';
import { theLab } from '../../support/own-lab.ts';

const lab = theLab(null);

test('a short scoreboard has the cells that were played, each as the ladder claims', async () => {
  const rungs = ['redis-atomic', 'fenced'];
  const faults = ['stale-promotion', 'scripts-forgotten', '1-stopped'];
  const options = { rungs, faults, times: 1, partMs: 1_000 };
  const { verdict, own: cells = [] } = await playIn(lab(), scoreboardExperiment(), options);
  const record = { runs: [], machine: {}, cells };
  const seen = cells.map((cell) => [cell.rung, cell.fault, worstOutcome(cell), agreement(cell)]);
  expect(seen, scoreboardText(record, '')).toEqual([
    ['redis-atomic', 'stale-promotion', 'wrong', 'yes'],
    ['fenced', 'stale-promotion', 'overlap', 'yes'],
    ['redis-atomic', 'scripts-forgotten', 'held', 'yes'],
    ['fenced', 'scripts-forgotten', 'held', 'yes'],
    ['redis-atomic', '1-stopped', 'held', 'yes'],
    ['fenced', '1-stopped', 'held', 'yes'],
  ]);
  expect(verdict).toBe('held');
  const costs = cells.flatMap(({ plays }) => plays.flatMap(({ cost = [] }) => cost));
  expect(costs).toHaveLength(2);
  for (const { soldOn, resumedAfterMs } of costs) {
    expect(soldOn).toBe(false);
    expect(resumedAfterMs).toBeGreaterThan(0);
  }
}, 240_000);

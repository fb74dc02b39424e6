import { type Run, type RunRequest, runRung } from '../drills/run-rung.ts';
import { serialRuns } from '../drills/serial-costs.ts';
import { defaults, raceWalk, walk } from '../drills/walk.ts';
import type { Lab } from '../lab/lab.ts';
import { withLab } from '../lab/session.ts';
import type { PlayedRace } from '../races/judge.ts';
import { withoutFacts } from '../report/facts-files.ts';
import { writeRunFolder } from '../report/run-folder.ts';
import { raceSentence, runSentence, wrap } from '../report/sentences.ts';
import { costLegend, costTable, legend, raceTable, runTable, serialTable } from '../report/table.ts';
import { withConnections } from './lab-connections.ts';
import { type Place, type Reporting, report, tell } from './place.ts';
import { raceOn } from './race.ts';

export async function demo({ labFolder, runsFolder }: Place, { json }: Reporting): Promise<void> {
  tell('Starting the lab: MariaDB, Redis masters, nginx, the service …');
  const { runs, serial, races } = await withLab(labFolder, tell, async (lab, signal) => ({
    runs: await walkAll(lab, signal),
    serial: await compareSerial(lab, signal),
    races: await raceAll(lab, signal),
  }));
  const folder = await writeRunFolder(runsFolder, 'demo', { command: 'npm run demo', runs, serial, races });
  const results = runs.map(({ result }) => result);
  const slow = serial.map(({ result }) => result);
  const all = [...results, ...slow, ...races];
  const asClaimed = all.filter((result) => result.asClaimed).length;
  const summary = `${asClaimed} of ${all.length} runs and races as the ladder claims. Report: ${folder}/report.md`;
  const parts = [
    runTable(results),
    legend,
    costTable(results),
    costLegend,
    serialTable(slow),
    raceTable(races),
    wrap(summary),
  ];
  report(json, { results, serial: slow, races: races.map(withoutFacts), folder }, () =>
    ['', ...parts].join('\n\n'),
  );
  process.exitCode = all.some(({ verdict }) => verdict === 'unknown') ? 2 : Number(asClaimed < all.length);
}

async function walkAll(lab: Lab, signal: AbortSignal): Promise<Run[]> {
  const { users, stock, seed, workMs } = defaults;
  tell(
    `\nRushes: ${stock} vouchers, ${users} users at once, one in ten of them 8 times; workMs ${workMs}, seed ${seed}.\n`,
  );
  return runAll(walk(seed), lab, signal);
}

function compareSerial(lab: Lab, signal: AbortSignal): Promise<Run[]> {
  tell('\nWhat being serial costs: different users, one request each, and enough for all.\n');
  return runAll(serialRuns(defaults.seed), lab, signal);
}

async function runAll(requests: readonly RunRequest[], lab: Lab, signal: AbortSignal): Promise<Run[]> {
  const runs: Run[] = [];
  for (const request of requests) {
    signal.throwIfAborted();
    await lab.ensure(request);
    const run = await withConnections(lab, (connections) => runRung(request, lab, connections));
    tell(wrap(runSentence(run)));
    runs.push(run);
  }
  return runs;
}

async function raceAll(lab: Lab, signal: AbortSignal): Promise<PlayedRace[]> {
  tell('\nRaces: step by step, each on the rung that has it and on the next one up.\n');
  const races: PlayedRace[] = [];
  for (const { race, rung } of raceWalk) {
    signal.throwIfAborted();
    const result = await raceOn(lab, race, rung);
    tell(wrap(raceSentence(result)));
    races.push(result);
  }
  return races;
}

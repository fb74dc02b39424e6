import { type Run, type RunRequest, runRung } from '../drills/run-rung.ts';
import { serialRuns } from '../drills/serial-costs.ts';
import { defaults, raceWalk, walk } from '../drills/walk.ts';
import type { Lab } from '../lab/lab.ts';
import { withLab } from '../lab/session.ts';
import type { RungName } from '../ladder.ts';
import type { PlayedRace } from '../races/judge.ts';
import type { RaceName } from '../races/schedules.ts';
import { withoutFacts } from '../report/facts-files.ts';
import { writeRunFolder } from '../report/run-folder.ts';
import { raceSentence, runSentence, wrap } from '../report/sentences.ts';
import { costLegend, costTable, legend, raceTable, runTable, serialTable } from '../report/table.ts';
import { withConnections } from './lab-connections.ts';
import { type Place, type Reporting, report, tell } from './place.ts';
import { raceOn } from './race.ts';

interface Walk {
  readonly runs: Run[];
  readonly serial: Run[];
  readonly races: PlayedRace[];
}

export async function demo({ labFolder, runsFolder }: Place, { json }: Reporting): Promise<void> {
  tell('Starting the lab: MariaDB, Redis masters, nginx, the service …');
  const walked: Walk = { runs: [], serial: [], races: [] };
  const leaveReport = () => writeRunFolder(runsFolder, 'demo', { command: 'npm run demo', ...walked });
  try {
    await withLab(labFolder, tell, (lab, signal) => walkAll(walked, lab, signal));
  } catch (error) {
    if (walked.runs.length > 0) tell(`Not to the end. What there is: ${await leaveReport()}/report.md`);
    throw error;
  }
  const folder = await leaveReport();
  const { races } = walked;
  const results = walked.runs.map(({ result }) => result);
  const slow = walked.serial.map(({ result }) => result);
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

async function walkAll({ runs, serial, races }: Walk, lab: Lab, signal: AbortSignal): Promise<void> {
  const { users, stock, seed, workMs, insistence } = defaults;
  tell(
    `\nRushes: ${stock} vouchers, ${users} users at once, one in ten of them ${insistence} times; workMs ${workMs}, seed ${seed}.\n`,
  );
  for (const request of walk(seed)) runs.push(await runOne(request, lab, signal));
  tell('\nWhat being serial costs: different users, one request each, and enough for all.\n');
  for (const request of serialRuns(seed)) serial.push(await runOne(request, lab, signal));
  tell('\nRaces: step by step, each on the rungs that have it and on the next one up.\n');
  for (const { race, rung } of raceWalk) races.push(await raceOne(race, rung, lab, signal));
}

async function runOne(request: RunRequest, lab: Lab, signal: AbortSignal): Promise<Run> {
  signal.throwIfAborted();
  await lab.ensure(request);
  const run = await withConnections(lab, (connections) => runRung(request, lab, connections));
  tell(wrap(runSentence(run)));
  return run;
}

async function raceOne(race: RaceName, rung: RungName, lab: Lab, signal: AbortSignal): Promise<PlayedRace> {
  signal.throwIfAborted();
  const result = await raceOn(lab, race, rung);
  tell(wrap(raceSentence(result)));
  return result;
}

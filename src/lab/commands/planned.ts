/** The experiments that a command and the page both play, with the command that repeats them. */
import type { RungName } from '../../service/ladder/rungs.ts';
import type { Bilingual, Language } from '../../texts/texts.ts';
import { breakName, drillOnName, k6PerSecondMax, whyNot } from '../by-hand/break-choice.ts';
import { type BreakOptions, breakIt } from '../by-hand/break-it.ts';
import { type FaultStep, scriptOf, scriptText } from '../by-hand/fault-script.ts';
import { type DrillName, drills } from '../drills/drills.ts';
import type { Database } from '../environment/servers/database.ts';
import { labError } from '../errors.ts';
import { raceExperiment } from '../play/race-on.ts';
import type { PlayedRace } from '../play/race-verdict.ts';
import type { RaceName } from '../play/schedules.ts';
import type { ExperimentPlan, OwnReport } from '../report/experiment-report.ts';
import { fileLine, reportLine } from '../report/file-words.ts';
import { withoutFacts } from '../report/folder.ts';
import { raceText } from '../report/race-text.ts';
import type { Judged } from '../stage/result.ts';
import { commandText } from './row.ts';
import { breakRow, drillRow, raceRow } from './rows.ts';

export const plannedRace = (
  name: RaceName,
  rung: RungName,
  language?: Language,
): ExperimentPlan<{ name: RaceName; rung: RungName }, PlayedRace> => ({
  name: `race-${name}-${rung}`,
  experiment: raceExperiment,
  options: { name, rung },
  command: commandText(raceRow, { name, rung }),
  ...(language && { language }),
  report: (played, { plays }) => raceReport(played, plays, language ?? 'en'),
});

export const plannedDrill = (
  name: DrillName,
  options: { readonly seed: number; readonly minutes: number },
): ExperimentPlan<typeof options, unknown> => ({
  name: `drill-${name}`,
  experiment: drills[name],
  options,
  command: commandText(drillRow, { name, ...options }),
});

/** A drill with what was broken meanwhile repeats it. @throws NOT_BESIDE, K6_TOO_FAST */
export function plannedBreak(
  options: BreakOptions,
): ExperimentPlan<BreakOptions, readonly FaultStep[]> {
  refuseLoad(options);
  const command = commandText(breakRow, options);
  return {
    name: breakName(options),
    experiment: breakIt('byHand'),
    options,
    command,
    repeat: (steps) => (steps.length > 0 ? drillOnText(options, scriptText(steps)) : command),
  };
}

/** @param faults `10 stop redis-2, 20 start redis-2` @throws as `plannedBreak` and `scriptOf` */
export function plannedDrillOn(
  options: BreakOptions,
  faults: string,
  database: Database,
): ExperimentPlan<BreakOptions, readonly FaultStep[]> {
  refuseLoad(options);
  const steps = scriptOf(faults, options, database);
  return {
    name: drillOnName(options),
    experiment: breakIt('atTimes'),
    options: { ...options, steps },
    command: drillOnText(options, scriptText(steps)),
  };
}

const drillOnText = ({ rung, ...load }: BreakOptions, faults: string): string =>
  commandText(drillRow, { on: rung, ...load, faults });

function refuseLoad(options: BreakOptions): void {
  const because = whyNot(options);
  if (because === 'notBeside') throw labError('NOT_BESIDE');
  if (because === 'k6TooFast') throw labError('K6_TOO_FAST', k6PerSecondMax);
}

function raceReport(
  played: PlayedRace,
  plays: readonly Judged<PlayedRace>[],
  language: Language,
): OwnReport {
  const count = {
    times: plays.length,
    violated: plays.filter(({ verdict }) => verdict === 'violated').length,
    asClaimed: plays.filter(({ isAsClaimed }) => isAsClaimed).length,
  };
  const { times, violated, asClaimed } = count;
  const counted: Bilingual = {
    en: `played ${times} times: ${violated} violated, ${asClaimed} as claimed\n`,
    zh: `跑了 ${times} 次：违反 ${violated} 次，与预期一致 ${asClaimed} 次\n`,
  };
  return {
    files: { 'race.json': withoutFacts(played) },
    data: () => ({ ...withoutFacts(played), count }),
    text: (folder) =>
      [
        raceText(played, language),
        '',
        ...(times > 1 ? [counted[language]] : []),
        reportLine(folder, language),
        fileLine('replay', `npx lockstep replay ${folder}/race.json`, language),
      ].join('\n'),
  };
}

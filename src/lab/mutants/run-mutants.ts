/**
 * Runs mutants: each trial on the real rung first, then on every mutant that it is for. A mutant is
 * a copy of the compiled service with one change, and the lab's service is started from it.
 */
import { evidenceText } from '../../texts/evidence.ts';
import type { Lab, Progress } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import { type ChangedCopy, changedCopy, checkChange } from './change.ts';
import { forgetTrials } from './forget-trials.ts';
import { type Fate, firstNotHeld, type TrialCheck, violatedChecks } from './judge-trial.ts';
import { type Mutant, type MutantName, mutants } from './mutants.ts';
import { runTrial, type TrialResult, trialShape } from './run-trial.ts';
import type { Trial } from './trial.ts';
import { type TrialName, trials } from './trials.ts';

export interface RealRun {
  readonly verdict: 'held' | 'violated' | 'unknown';
  readonly seconds: number;
  /** Why it did not hold; empty otherwise. */
  readonly evidence: string;
}

export interface MutantResult {
  readonly mutant: MutantName;
  readonly defence: string;
  readonly trial: TrialName;
  readonly fault: string;
  readonly fate: Fate;
  readonly turnsRed: TrialCheck;
  /** The checks that were violated; more than one defence may be behind another. */
  readonly violated: readonly TrialCheck[];
  readonly evidence: string;
  /** Until it was judged. */
  readonly seconds: number;
  /** The real rung under the same fault. */
  readonly real: RealRun;
}

/** @throws MUTANT_TEXT_MISSING before anything is started. */
export function checkMutants(names: readonly MutantName[]): void {
  for (const name of names) {
    const mutant: Mutant = mutants[name];
    if ('file' in mutant) checkChange(name, mutant);
  }
}

/** The real rung plays every trial in one service. Then each mutant plays its own. */
export async function runMutants(
  lab: Lab,
  names: readonly MutantName[],
  signal: AbortSignal,
  progress: Progress,
): Promise<MutantResult[]> {
  checkMutants(names);
  const copies: ChangedCopy[] = [];
  try {
    const real = await playOnReal(lab, names, signal, progress);
    const results: MutantResult[] = [];
    for (const name of names) {
      signal.throwIfAborted();
      const result = await runMutant(lab, name, real, copies, signal);
      results.push(result);
      progress(mutantLine(result));
    }
    return results;
  } finally {
    await lab.serve(trialShape).finally(() => {
      for (const copy of copies) copy.remove(); // No process of a mutant is left.
    });
    await withConnections(lab, forgetTrials).catch((error) => progress(String(error)));
  }
}

type RealRuns = ReadonlyMap<TrialName, RealRun>;

async function playOnReal(
  lab: Lab,
  names: readonly MutantName[],
  signal: AbortSignal,
  progress: Progress,
): Promise<RealRuns> {
  const runs = new Map<TrialName, RealRun>();
  await lab.ensure(trialShape);
  for (const trial of new Set(names.map((name) => mutants[name].trial))) {
    signal.throwIfAborted();
    const run = await runReal(lab, trial, signal);
    runs.set(trial, run);
    progress(`${trial}, real rung: ${run.verdict} after ${run.seconds.toFixed(1)} s`);
    if (run.evidence !== '') progress(`  ${run.evidence}`);
  }
  return runs;
}

export function mutantLine({ mutant, fate, turnsRed, violated, seconds, evidence }: MutantResult) {
  const after = `after ${seconds.toFixed(1)} s`;
  if (fate === 'red') return `${mutant}: ${turnsRed} is red ${after}`;
  const seen = violated.length > 0 ? `red: ${violated.join(', ')}` : 'all checks held';
  if (fate === 'survived') return `${mutant}: SURVIVED, ${turnsRed} is not red ${after} (${seen})`;
  return `${mutant}: unknown ${after}; ${evidence}`;
}

async function runReal(lab: Lab, name: TrialName, signal: AbortSignal): Promise<RealRun> {
  const played = await play(lab, name, signal);
  const { seconds } = played;
  if ('error' in played) return { verdict: 'unknown', seconds, evidence: played.error };
  const bad = firstNotHeld(played.findings);
  if (!bad) return { verdict: 'held', seconds, evidence: '' };
  const found = `${bad.check}: ${evidenceText('en', ...bad.evidence)}`;
  return { verdict: bad.verdict, seconds, evidence: found };
}

async function runMutant(
  lab: Lab,
  name: MutantName,
  runs: RealRuns,
  copies: ChangedCopy[],
  signal: AbortSignal,
): Promise<MutantResult> {
  const mutant: Mutant = mutants[name];
  const { defence, trial, turnsRed } = mutant;
  const copy = 'file' in mutant ? changedCopy(name, mutant) : undefined;
  if (copy) copies.push(copy);
  const played = await withMutant(lab, copy?.folder, mutant, () => play(lab, trial, signal));
  const { seconds } = played;
  const real = runs.get(trial) ?? neverPlayed;
  const about = {
    mutant: name,
    defence,
    trial,
    fault: trials[trial].fault.en,
    turnsRed,
    real,
    seconds,
  };
  if ('error' in played) return { ...about, fate: 'unknown', violated: [], evidence: played.error };
  const violated = violatedChecks(played.findings);
  const expected = played.findings.find(({ check }) => check === turnsRed);
  const evidence = evidenceText('en', ...(expected?.evidence ?? []));
  return { ...about, fate: violated.includes(turnsRed) ? 'red' : 'survived', violated, evidence };
}

const neverPlayed: RealRun = { verdict: 'unknown', seconds: 0, evidence: 'it was not played' };

type Playing = TrialResult | { readonly error: string; readonly seconds: number };

async function play(lab: Lab, name: TrialName, signal: AbortSignal): Promise<Playing> {
  const trial: Trial = trials[name];
  const startedAt = performance.now();
  try {
    return await runTrial(lab, name, trial, signal);
  } catch (error) {
    signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    return { error: why, seconds: (performance.now() - startedAt) / 1_000 };
  }
}

/** Afterwards its orders and its settings are gone. */
async function withMutant<T>(
  lab: Lab,
  code: string | undefined,
  mutant: Mutant,
  work: () => Promise<T>,
): Promise<T> {
  let before: Settings = {};
  try {
    await lab.serve({ ...trialShape, ...(code !== undefined && { code }) });
    if ('redis' in mutant) before = await configure(lab, mutant.redis);
    return await work();
  } finally {
    await forgetOrders(lab);
    await configure(lab, before);
  }
}

type Settings = Readonly<Record<string, string>>;

/** @returns the settings as they were. */
async function configure(lab: Lab, settings: Settings): Promise<Settings> {
  return withConnections(lab, async (connections) => {
    const redis = connections.redis('admin');
    const before: Record<string, string> = {};
    for (const [key, value] of Object.entries(settings)) {
      const [, known = ''] = (await redis.config('GET', key)) as string[];
      before[key] = known;
      await redis.config('SET', key, value);
    }
    return before;
  });
}

/** The orders that a mutant left: otherwise the next one would consume them. */
async function forgetOrders(lab: Lab): Promise<void> {
  await withConnections(lab, async (connections) => {
    for (const { orders, queued } of connections.saleKeys.shards)
      await connections.redis('admin').del(orders, queued);
  });
}

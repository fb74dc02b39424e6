/**
 * Runs mutants: each trial on the real rung first, then on every mutant that it is for. A mutant is
 * a copy of the compiled service with one change, and the lab's service is started from it.
 */
import type { Connections } from '../../service/connections/connections.ts';
import { type RowDataPacket, select } from '../../service/connections/mysql.ts';
import type { ShardKeys } from '../../service/connections/sale-keys.ts';
import { fieldOf } from '../../service/queues/shared/order-fields.ts';
import { checkTexts, evidenceTexts } from '../../texts/evidence.ts';
import { type Bilingual, texts } from '../../texts/texts.ts';
import type { Lab } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import { ofName } from '../stage/result.ts';
import type { Experiment, Stage } from '../stage/stage.ts';
import { type ChangedCopy, changedCopy, checkChange } from './change.ts';
import { judgeMutants, type MutantResult, type RealRun } from './judge-mutants.ts';
import { type Mutant, type MutantName, mutants } from './mutants.ts';
import {
  firstNotHeld,
  runTrial,
  settlesWithinMs,
  type TrialFinding,
  trialShape,
  trialTitle,
} from './run-trial.ts';
import type { TrialName } from './trials.ts';

export const mutantTrials: Experiment<{ readonly names: readonly MutantName[] }> = {
  about: {
    en: 'one defence of the final rung is removed at a time: a check must turn red',
    zh: '每次拆掉最终方案的一道防线：必须有一项检查变红',
  },
  play: async (stage, { names }) => judgeMutants(await runMutants(stage, names)),
};

/** @throws MUTANT_TEXT_MISSING before anything is started. */
export function checkMutants(names: readonly MutantName[]): void {
  for (const name of names) {
    const mutant: Mutant = mutants[name];
    if ('file' in mutant) checkChange(name, mutant);
  }
}

/** The real rung plays every trial in one service. Then each mutant plays its own. */
export async function runMutants(
  stage: Stage,
  names: readonly MutantName[],
): Promise<MutantResult[]> {
  checkMutants(names);
  const { lab, signal } = stage;
  const copies: ChangedCopy[] = [];
  try {
    const real = await playOnReal(stage, names);
    const results: MutantResult[] = [];
    for (const name of names) {
      signal.throwIfAborted();
      const played = await playMutant(stage, name, copies);
      const result = resultOf(name, played, real.get(mutants[name].trial) ?? neverPlayed);
      results.push(result);
      stage.note(ofName(name, fateText(result)));
    }
    return results;
  } finally {
    await lab.serve(trialShape).finally(() => {
      for (const copy of copies) copy.remove(); // No process of a mutant is left.
    });
    await withConnections(lab, forgetTrials).catch((error) =>
      stage.emit({ kind: 'note', text: String(error) }),
    );
  }
}

async function playOnReal(
  stage: Stage,
  names: readonly MutantName[],
): Promise<ReadonlyMap<TrialName, TrialRun>> {
  const runs = new Map<TrialName, TrialRun>();
  await stage.lab.ensure(trialShape);
  for (const trial of new Set(names.map((name) => mutants[name].trial))) {
    stage.signal.throwIfAborted();
    const run = await play(stage, trial);
    runs.set(trial, run);
    stage.note(realLine(trial, run));
  }
  return runs;
}

function realLine(trial: TrialName, { verdict, seconds, evidence }: RealRun): Bilingual {
  const after = seconds.toFixed(1);
  const { en, zh } = evidence;
  return {
    en: `${trial}, real rung: ${verdict} after ${after} s${en && `\n  ${en}`}`,
    zh: `${trial}，真实方案：${after} s 后${texts.zh.verdicts[verdict]}${zh && `\n  ${zh}`}`,
  };
}

function fateText({ mutant, fate, violated, seconds, evidence }: MutantResult): Bilingual {
  const { turnsRed } = mutants[mutant];
  const after = seconds.toFixed(1);
  const seen = violated.join(', ');
  if (fate === 'red')
    return { en: `${turnsRed} is red after ${after} s`, zh: `${turnsRed} 在 ${after} s 后变红` };
  if (fate === 'unknown')
    return {
      en: `unknown after ${after} s; ${evidence.en}`,
      zh: `${after} s 后仍无法判定；${evidence.zh}`,
    };
  const red = { en: seen && `red: ${seen}`, zh: seen && `变红的：${seen}` };
  return {
    en: `SURVIVED, ${turnsRed} is not red after ${after} s (${red.en || 'all checks held'})`,
    zh: `没有变红！${after} s 后 ${turnsRed} 仍然通过（${red.zh || '全部通过'}）`,
  };
}

function resultOf(mutant: MutantName, played: TrialRun, real: RealRun): MutantResult {
  const { findings, seconds } = played;
  const about = { mutant, seconds, real };
  if (!findings) return { ...about, fate: 'unknown', violated: [], evidence: played.evidence };
  const bad = findings.filter(({ verdict }) => verdict === 'violated');
  const violated = bad.map(({ check }) => check);
  const expected = findings.find(({ check }) => check === mutants[mutant].turnsRed);
  const evidence = evidenceTexts(...(expected?.evidence ?? []));
  const fate = expected?.verdict === 'violated' ? 'red' : 'survived';
  return { ...about, fate, violated, evidence };
}

const neverPlayed: RealRun = {
  verdict: 'unknown',
  seconds: 0,
  evidence: { en: 'it was not played', zh: '没有跑' },
};

interface TrialRun extends RealRun {
  /** Undefined when the moment that decides was not reached. */
  readonly findings?: readonly TrialFinding[];
}

async function play(stage: Stage, name: TrialName, withinMs?: number): Promise<TrialRun> {
  const startedAt = performance.now();
  try {
    const { findings, seconds } = await runTrial(stage, name, withinMs);
    const bad = firstNotHeld(findings);
    const evidence = bad ? checkTexts(bad.check, ...bad.evidence) : nothing;
    return { verdict: bad?.verdict ?? 'held', seconds, evidence, findings };
  } catch (error) {
    stage.signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    const seconds = (performance.now() - startedAt) / 1_000;
    return { verdict: 'unknown', seconds, evidence: { en: why, zh: why } };
  }
}

const nothing: Bilingual = { en: '', zh: '' };

/** Afterwards its orders and its settings are gone. */
async function playMutant(
  stage: Stage,
  name: MutantName,
  copies: ChangedCopy[],
): Promise<TrialRun> {
  const { lab } = stage;
  const mutant: Mutant = mutants[name];
  const copy = 'file' in mutant ? changedCopy(name, mutant) : undefined;
  if (copy) copies.push(copy);
  let before: Settings = {};
  try {
    await lab.serve({ ...trialShape, ...(copy && { code: copy.folder }) });
    if ('redis' in mutant) before = await configure(lab, mutant.redis);
    const settles = mutant.turnsRed === 'orders-settle' ? 'never' : 'usually';
    return await play(stage, mutant.trial, settlesWithinMs[settles]);
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

/**
 * Removes the vouchers of all trials from both stores, once no process of a mutant runs: a mutant
 * damages its voucher on purpose, and `reconcile` would find that in the lab afterwards.
 */
async function forgetTrials(connections: Connections): Promise<void> {
  const pool = connections.mysql();
  const rows = await select<RowDataPacket & { id: string }>(
    pool,
    'SELECT CAST(id AS CHAR) AS id FROM vouchers WHERE title LIKE ?',
    [`${trialTitle}%`],
  );
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return;
  for (const table of ['orders', 'seckill_stock', 'lab_options'])
    await pool.query(`DELETE FROM ${table} WHERE voucher_id IN (?)`, [ids]);
  await pool.query('DELETE FROM vouchers WHERE id IN (?)', [ids]);
  for (const shard of connections.saleKeys.shards) await forgetIn(connections, shard, ids);
}

async function forgetIn(
  connections: Connections,
  { voucher, buyers, about, orders, dead, queued }: ShardKeys,
  ids: readonly string[],
): Promise<void> {
  const redis = connections.redis('admin');
  for (const id of ids) await redis.unlink(voucher(id), buyers(id), about(id));
  for (const stream of [orders, dead])
    for (const [entryId, fields] of await redis.xrange(stream, '-', '+'))
      if (ids.includes(fieldOf(fields, 'voucherId') ?? '')) await redis.xdel(stream, entryId);
  for (const [orderId, note] of Object.entries(await redis.hgetall(queued)))
    if (ids.includes(note.split(':')[0] ?? '')) await redis.hdel(queued, orderId);
}

import type { RunRequest } from '../drills/run-rung.ts';
import { runRung } from '../drills/run-rung.ts';
import { UnknownRung } from '../errors.ts';
import { withLab } from '../lab/session.ts';
import { isRungName, ladder, rungNames } from '../ladder.ts';
import { writeRunFolder } from '../report/run-folder.ts';
import { auditLines, claimSentence, holdLines, holdsCaught, proofLines, wrap } from '../report/sentences.ts';
import { costTable, legend, runTable } from '../report/table.ts';
import { withConnections } from './lab-connections.ts';
import { type Place, type Reporting, report, tell } from './place.ts';

type Options = Reporting & Omit<RunRequest, 'rung' | 'instances'> & { readonly instances?: number };

export async function run(
  { labFolder, runsFolder }: Place,
  rung: string,
  { json, ...options }: Options,
): Promise<void> {
  if (!isRungName(rung)) throw new UnknownRung(rung, rungNames);
  const request: RunRequest = { ...options, rung, instances: options.instances ?? ladder[rung].instances };
  const done = await withLab(labFolder, tell, async (lab) => {
    await lab.ensure(request);
    return withConnections(lab, (connections) => runRung(request, lab, connections));
  });
  const { instances, users, stock, seed, workMs, insistence, retries, balancer, holds } = request;
  const held = holds.map((hold) => ` --hold ${hold}`).join('');
  const command = `lockstep run ${rung} --instances ${instances} --users ${users} --stock ${stock} --seed ${seed} --work-ms ${workMs} --insistence ${insistence} --retries ${retries} --balancer ${balancer}${held}`;
  const folder = await writeRunFolder(runsFolder, rung, { command, runs: [done] });
  const text = () =>
    [
      runTable([done.result]),
      '',
      legend,
      '',
      costTable([done.result]),
      '',
      wrap(claimSentence(done)),
      auditLines(done.audit),
      ...proofLines(done),
      '',
      ...holdLines(done),
      `workMs ${workMs}, seed ${seed}; check it again: npx lockstep audit ${done.result.voucherId}`,
      `report: ${folder}/report.md`,
    ].join('\n');
  report(json, done.result, text);
  const couldTell = done.result.verdict !== 'unknown' && holdsCaught(done);
  process.exitCode = couldTell ? Number(!done.result.asClaimed) : 2;
}

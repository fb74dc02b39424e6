import type { RunRequest } from '../drills/run-rung.ts';
import { runRung } from '../drills/run-rung.ts';
import { UnknownRung } from '../errors.ts';
import { withLab } from '../lab/session.ts';
import { isRungName, ladder, rungNames } from '../ladder.ts';
import { writeRunFolder } from '../report/run-folder.ts';
import { auditLines, proofLines, runSentence, wrap } from '../report/sentences.ts';
import { costLegend, costTable, legend, runTable } from '../report/table.ts';
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
  const command = `lockstep run ${rung} --instances ${request.instances} --users ${request.users} --stock ${request.stock} --seed ${request.seed} --work-ms ${request.workMs} --insistence ${request.insistence} --balancer ${request.balancer}${request.holds.map((hold) => ` --hold ${hold}`).join('')}`;
  const folder = await writeRunFolder(runsFolder, rung, { command, runs: [done] });
  const text = () =>
    [
      runTable([done.result]),
      '',
      legend,
      '',
      costTable([done.result]),
      '',
      costLegend,
      '',
      wrap(runSentence(done)),
      auditLines(done.audit),
      ...proofLines(done),
      '',
      `workMs ${request.workMs}, seed ${request.seed}; report: ${folder}/report.md`,
    ].join('\n');
  report(json, done.result, text);
  process.exitCode = done.result.verdict === 'unknown' ? 2 : Number(!done.result.asClaimed);
}

import { type Run, runRung } from '../drills/run-rung.ts';
import { defaults, walk } from '../drills/walk.ts';
import type { Lab } from '../lab/lab.ts';
import { withLab } from '../lab/session.ts';
import { writeRunFolder } from '../report/run-folder.ts';
import { runSentence, wrap } from '../report/sentences.ts';
import { legend, runTable } from '../report/table.ts';
import { withConnections } from './lab-connections.ts';
import { type Place, type Reporting, report, tell } from './place.ts';

export async function demo({ labFolder, runsFolder }: Place, { json }: Reporting): Promise<void> {
  tell('Starting the lab: MariaDB, four Redis masters, nginx, the service …');
  const runs = await withLab(labFolder, tell, walkAll);
  const folder = await writeRunFolder(runsFolder, 'demo', { command: 'npm run demo', runs });
  const results = runs.map(({ result }) => result);
  const asClaimed = results.filter((result) => result.asClaimed).length;
  const summary = `${asClaimed} of ${runs.length} runs as the ladder claims. Report: ${folder}/report.md`;
  report(json, { results, folder }, () => ['', runTable(results), '', legend, '', wrap(summary)].join('\n'));
  process.exitCode = results.some(({ verdict }) => verdict === 'unknown')
    ? 2
    : Number(asClaimed < runs.length);
}

async function walkAll(lab: Lab): Promise<Run[]> {
  const { users, stock, seed, workMs } = defaults;
  tell(
    `\nEach run: ${stock} vouchers, ${users} users at once, one in ten of them 8 times; workMs ${workMs}, seed ${seed}.\n`,
  );
  const runs: Run[] = [];
  for (const request of walk(seed)) {
    await lab.ensure(request);
    const run = await withConnections(lab, (connections) => runRung(request, lab, connections));
    tell(wrap(runSentence(run), 79));
    runs.push(run);
  }
  return runs;
}

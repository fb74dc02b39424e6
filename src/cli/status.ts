import { Lab } from '../lab/environment/lab.ts';
import { databaseShell } from '../lab/environment/servers/database.ts';
import { plainTable } from '../lab/report/tables.ts';
import type { Language } from '../texts/texts.ts';
import { labWords } from './lab-words.ts';
import { json, language } from './options.ts';
import { type AddCommand, type JsonOption, print, setExitCode } from './output.ts';

export const addStatus: AddCommand = (program, { labFolder }) =>
  program
    .command('status')
    .description('show the lab’s servers')
    .addOption(language())
    .addOption(json())
    .action(({ json, language }: JsonOption & { language: Language }) => {
      const lab = Lab.find(labFolder);
      const isRunning = lab?.isRunning() ?? false;
      const data = {
        running: isRunning,
        url: lab?.baseUrl,
        shape: lab?.shape,
        servers: lab?.servers ?? [],
      };
      print(json, data, () => (lab ? statusText(lab, language) : labWords[language].notUp));
      setExitCode([isRunning ? 'yes' : 'no']);
    });

function statusText(lab: Lab, language: Language): string {
  const { baseUrl, servers, shape, database } = lab;
  const say = labWords[language];
  const rows = servers.map(({ name, port, pid, alive, paused }) => [
    name,
    String(port),
    alive ? String(pid) : say.gone,
    paused ? say.paused : '',
  ]);
  const table = plainTable([...say.head], rows);
  return [
    `${say.servers(baseUrl, shape.instances, shape.balancer)}\n`,
    `${table}\n`,
    say.lookInside,
    `  ${databaseShell(lab.portOf(database))}`,
    `  redis-cli -p ${lab.portOf('redis-main')}`,
  ].join('\n');
}

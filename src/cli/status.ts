import { Lab } from '../lab/environment/lab.ts';
import { plainTable } from '../lab/report/tables.ts';
import { json } from './options.ts';
import { type AddCommand, type JsonOption, print, setExitCode } from './output.ts';

export const addStatus: AddCommand = (program, { labFolder }) =>
  program
    .command('status')
    .description('show the lab’s servers')
    .addOption(json())
    .action(({ json }: JsonOption) => {
      const lab = Lab.find(labFolder);
      const isRunning = lab?.isRunning() ?? false;
      const data = {
        running: isRunning,
        url: lab?.baseUrl,
        shape: lab?.shape,
        servers: lab?.servers ?? [],
      };
      print(json, data, () =>
        lab ? statusText(lab) : 'The lab is not running: start it with `npm run up`.',
      );
      setExitCode([isRunning ? 'yes' : 'no']);
    });

function statusText({ baseUrl, servers, shape }: Lab): string {
  const rows = servers.map(({ name, port, pid, alive, paused }) => [
    name,
    String(port),
    alive ? String(pid) : 'GONE',
    paused ? 'paused' : '',
  ]);
  const table = plainTable(['server', 'port', 'pid', ''], rows);
  return `${baseUrl}, ${shape.instances} instances behind ${shape.balancer}\n\n${table}`;
}

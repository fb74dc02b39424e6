import { Lab } from '../lab/environment/lab.ts';
import { alone } from '../lab/environment/session.ts';
import { json } from './options.ts';
import { type AddCommand, type JsonOption, print } from './output.ts';

export const addDown: AddCommand = (program, { labFolder }) =>
  program
    .command('down')
    .description('stop the lab')
    .addOption(json())
    .action(async ({ json }: JsonOption) => {
      const stopped = await alone(labFolder, async () => {
        const wasRunning = Lab.find(labFolder)?.servers.some(({ alive }) => alive) ?? false;
        await Lab.stop(labFolder);
        return wasRunning;
      });
      print(json, { stopped }, () =>
        stopped ? 'The lab is stopped.' : 'The lab was not running.',
      );
    });

import { Lab } from '../lab/environment/lab.ts';
import { alone, endPlays } from '../lab/environment/session.ts';
import { json } from './options.ts';
import { type AddCommand, type JsonOption, print, progress } from './output.ts';

export const addDown: AddCommand = (program, { labFolder }) =>
  program
    .command('down')
    .description('stop the lab')
    .addOption(json())
    .action(async ({ json }: JsonOption) => {
      await endPlays(labFolder);
      const stopped = await alone(labFolder, async () => {
        const lab = Lab.find(labFolder);
        const wasRunning = lab?.servers.some(({ alive }) => alive) ?? false;
        if (lab && wasRunning) await lab.restoreMasters().catch(warn);
        await Lab.stop(labFolder);
        return wasRunning;
      });
      print(json, { stopped }, () =>
        stopped ? 'The lab is stopped.' : 'The lab was not running.',
      );
    });

/** The lab is stopped all the same. */
const warn = (error: unknown): void =>
  progress(`Writes that only redis-replica has may be lost with this lab: ${error}`);

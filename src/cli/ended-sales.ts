import { Lab } from '../lab/environment/lab.ts';
import { withConnections } from '../lab/environment/lab-connections.ts';
import { labError } from '../lab/errors.ts';
import { wrapLines } from '../lab/report/wrap.ts';
import type { Connections } from '../service/connections/connections.ts';
import { endedSalesText, removeEndedSales } from '../service/orders/ended-sales.ts';
import { json, whole } from './options.ts';
import { type AddCommand, type JsonOption, print } from './output.ts';

export const addEndedSales: AddCommand = (program, { labFolder }) =>
  program
    .command('ended-sales')
    .description('delete the keys of ended sales from Redis; MySQL keeps vouchers and orders')
    .option('--days <n>', 'those that ended so many days ago, or earlier', whole(0, 3_650), 0)
    .addOption(json())
    .action(async ({ days, json }: JsonOption & { readonly days: number }) => {
      const lab = Lab.running(labFolder);
      if (!lab) throw labError('LAB_DOWN');
      const work = (opened: Connections) => removeEndedSales(opened, days);
      const ended = await withConnections(lab, work);
      print(json, ended, () => wrapLines(endedSalesText(ended)));
      if (ended.waiting.length > 0) process.exitCode = 1;
    });

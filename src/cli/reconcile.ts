import { Option } from 'commander';
import { forgetKept } from '../lab/environment/data-folder.ts';
import { Lab } from '../lab/environment/lab.ts';
import { withConnections } from '../lab/environment/lab-connections.ts';
import { labError } from '../lab/errors.ts';
import { wrapLines } from '../lab/report/wrap.ts';
import type { Connections } from '../service/connections/connections.ts';
import { Id } from '../service/http/ids.ts';
import { reconcileExitCodes, runReconcile } from '../service/orders/reconcile/reconcile-command.ts';
import { json } from './options.ts';
import { type AddCommand, type JsonOption, print } from './output.ts';

interface ReconcileOptions extends JsonOption {
  readonly repair: boolean;
  readonly rebuild: boolean;
}

export const addReconcile: AddCommand = (program, { labFolder }) =>
  program
    .command('reconcile')
    .description(
      'compare Redis and MySQL for the vouchers of lua-stream and lua-buckets, also while they sell',
    )
    .argument('[voucherId]', 'only this one; not with --rebuild')
    .option('--repair', 'mend what differs; never sells more than there is', false)
    .addOption(
      new Option('--rebuild', 'rebuild all of them from MySQL and the stream; sales stop meanwhile')
        .default(false)
        .conflicts('repair'),
    )
    .addOption(json())
    .action(async (voucherId: string | undefined, { json, ...how }: ReconcileOptions) => {
      if (voucherId !== undefined && !Id.safeParse(voucherId).success)
        throw labError('INVALID_ID', voucherId);
      if (voucherId !== undefined && how.rebuild) throw labError('REBUILD_OF_ONE');
      const lab = Lab.running(labFolder);
      if (!lab) throw labError('LAB_DOWN');
      const work = (opened: Connections) => runReconcile(opened, { voucherId, ...how });
      const { verdict, data, text } = await withConnections(lab, work);
      // Of the epoch before: with these data the service would not start again.
      if (how.rebuild) forgetKept(lab.dataFolder('redis-main'));
      print(json, data, () => wrapLines(text));
      process.exitCode = reconcileExitCodes[verdict];
    });

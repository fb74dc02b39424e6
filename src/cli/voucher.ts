import { Lab } from '../lab/environment/lab.ts';
import { labError } from '../lab/errors.ts';
import { putOnSale } from '../lab/workload/create-voucher.ts';
import { labTokenSecret } from '../service/config.ts';
import { mostBuckets } from '../service/domain.ts';
import { serviceError } from '../service/errors.ts';
import { isRungName, rungNames } from '../service/ladder/rungs.ts';
import { json, whole } from './options.ts';
import { type AddCommand, type JsonOption, print, type WorkFolders } from './output.ts';

const day = 86_400;

interface VoucherOptions extends JsonOption {
  readonly stock: number;
  readonly workMs: number;
  readonly buckets?: number;
  readonly beginsIn?: number;
  readonly endsIn?: number;
}

export const addVoucher: AddCommand = (program, folders) =>
  program
    .command('voucher')
    .description('put a voucher on sale in the running lab, to buy it by hand')
    .argument('<rung>', 'a name from `lockstep ladder`')
    .option('--stock <n>', 'vouchers for sale', whole(0, 1_000_000), 10)
    .option('--work-ms <n>', 'time between a sale’s check and its write', whole(0, 10_000), 0)
    .option('--buckets <n>', 'of lua-buckets: how many share the stock', whole(1, mostBuckets))
    .option('--begins-in <seconds>', 'when the sale begins; it has begun without it', whole(0, day))
    .option('--ends-in <seconds>', 'when the sale ends; in two hours without it', whole(0, day))
    .addOption(json())
    .action((rung: string, options: VoucherOptions) => voucher(folders, rung, options));

async function voucher(
  { labFolder }: WorkFolders,
  rung: string,
  { stock, workMs, buckets, beginsIn, endsIn, json }: VoucherOptions,
): Promise<void> {
  if (!isRungName(rung)) throw serviceError('UNKNOWN_RUNG', rung, rungNames);
  const lab = Lab.running(labFolder);
  if (!lab) throw labError('LAB_DOWN');
  const split = buckets !== undefined && { buckets };
  const window = {
    ...(beginsIn !== undefined && { beginsInMs: beginsIn * 1_000 }),
    ...(endsIn !== undefined && { endsInMs: endsIn * 1_000 }),
  };
  const sale = { title: 'by hand', stock, rung, ...split, ...window, lab: { workMs } };
  const id = await putOnSale(lab.baseUrl, labTokenSecret, lab.shape.instances, sale);
  const inBuckets = split ? ` in ${buckets} buckets` : '';
  const text = `voucher ${id}: ${stock} in stock${inBuckets}, sold by ${rung}`;
  print(json, { id, rung, stock, ...split }, () => text);
}

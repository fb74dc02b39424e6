import { Option } from 'commander';
import { Lab } from '../lab/environment/lab.ts';
import type { Database } from '../lab/environment/servers/database.ts';
import {
  type Network,
  networkOf,
  networks,
  type ServiceShape,
} from '../lab/environment/servers/service.ts';
import { alone, runningOn } from '../lab/environment/session.ts';
import { openPage } from '../page/open-page.ts';
import { type Durability, durabilities, labTokenSecret } from '../service/config.ts';
import { signToken } from '../service/http/tokens.ts';
import type { Language } from '../texts/texts.ts';
import { labWords } from './lab-words.ts';
import { database, json, language } from './options.ts';
import { type AddCommand, type JsonOption, print, progress, type WorkFolders } from './output.ts';

export const addUp: AddCommand = (program, folders) =>
  program
    .command('up')
    .description('start the lab and leave it running')
    .addOption(database())
    .addOption(
      new Option(
        '--network <kind>',
        'how the service reaches its stores; some faults need proxied or sentinel (default: direct)',
      ).choices(networks),
    )
    .addOption(
      new Option(
        '--durability <kind>',
        'what an accepted order survives; replica takes the network sentinel (default: always)',
      ).choices(durabilities),
    )
    .addOption(language())
    .addOption(json())
    .action((options: UpOptions) => up(folders, options));

interface UpOptions extends JsonOption {
  readonly database?: Database;
  readonly network?: Network;
  readonly durability?: Durability;
  readonly language: Language;
}

/** `replica` without a network gets the one with Sentinels: it has a replica. */
function shapeFor(shape: ServiceShape, { network, durability }: UpOptions): ServiceShape {
  const { ORDER_DURABILITY: _, ...others } = shape.settings ?? {};
  const settings = durability ? { ...others, ORDER_DURABILITY: durability } : shape.settings;
  const needed = durability === 'replica' && networkOf(shape) === 'direct' ? 'sentinel' : undefined;
  const chosen = network ?? needed;
  return { ...shape, ...(settings && { settings }), ...(chosen && { network: chosen }) };
}

async function up({ labFolder }: WorkFolders, options: UpOptions): Promise<void> {
  const { json, database, language } = options;
  const { lab, page } = await alone(labFolder, async (signal) => {
    const running = runningOn(labFolder, database);
    const lab = running ?? (await startLab(labFolder, signal, database));
    await lab.ensure(shapeFor(lab.shape, options));
    return { lab, page: await openPage(lab) };
  });
  const url = lab.baseUrl;
  const token = await signToken(labTokenSecret, '1', 'operator', 86_400);
  const data = { url, page, token, tokenSecret: labTokenSecret, servers: lab.servers };
  const { instances } = lab.shape;
  print(json, data, () => labWords[language].up({ url, instances }, page));
}

/** Up as a whole or not at all. */
export async function startLab(
  folder: string,
  signal: AbortSignal,
  database?: Database,
): Promise<Lab> {
  try {
    const lab = await Lab.start(folder, progress, { database });
    signal.throwIfAborted();
    return lab;
  } catch (error) {
    await Lab.stop(folder);
    throw error;
  }
}

import { labTokenSecret } from '../config.ts';
import { signToken } from '../http/tokens.ts';
import { Lab } from '../lab/environment/lab.ts';
import type { Database } from '../lab/environment/servers/database.ts';
import { alone } from '../lab/environment/session.ts';
import { database, json } from './options.ts';
import { type AddCommand, type JsonOption, type Place, print, progress } from './output.ts';

export const addUp: AddCommand = (program, place) =>
  program
    .command('up')
    .description('start the lab and leave it running')
    .addOption(database())
    .addOption(json())
    .action((options: UpOptions) => up(place, options));

interface UpOptions extends JsonOption {
  readonly database?: Database;
}

async function up({ labFolder }: Place, { json, database }: UpOptions): Promise<void> {
  const lab = await alone(
    labFolder,
    async (signal) =>
      Lab.running(labFolder) ?? (await startUnlessInterrupted(labFolder, signal, database)),
  );
  const url = lab.baseUrl;
  const token = await signToken(labTokenSecret, '1', 'operator', 86_400);
  const data = { url, token, tokenSecret: labTokenSecret, servers: lab.servers };
  print(json, data, () => {
    return `
Lockstep is up: ${url} (nginx, with ${lab.shape.instances} instances behind it)
  API description     ${url}/openapi.json
  Servers, ladder     npx lockstep status; npx lockstep ladder
  The headline        npx lockstep run mutex-per-user --instances 4
  Buy by hand         npx lockstep voucher mutex-per-user
                      npx lockstep buy <voucher> --user 7
  Load it with k6     npm run k6 -- k6/rush.js
  A bearer token      npx lockstep token 7
  Stop it             npm run down`;
  });
}

/** Up as a whole or not at all. */
async function startUnlessInterrupted(
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

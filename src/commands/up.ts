import { signToken } from '../http/tokens.ts';
import { Lab } from '../lab/lab.ts';
import { alone } from '../lab/session.ts';
import { labTokenSecret } from '../lab/stores.ts';
import { plainTable } from '../report/table.ts';
import { type Place, type Reporting, report, tell } from './place.ts';

export async function up({ labFolder }: Place, { json }: Reporting): Promise<void> {
  const lab = await alone(
    labFolder,
    async (signal) => Lab.running(labFolder) ?? (await startUnlessInterrupted(labFolder, signal)),
  );
  const token = await signToken(labTokenSecret, '1', 'operator', 86_400);
  const url = lab.baseUrl;
  report(
    json,
    { url, tokenSecret: labTokenSecret, servers: lab.servers },
    () => `
Lockstep is up: ${url} (nginx, ${lab.shape.instances} instances behind it)
  API description     ${url}/openapi.json
  Look around         npx lockstep status; npx lockstep ladder
  See the headline    npx lockstep run mutex-per-user --instances 4
  Load it with k6     BASE_URL=${url} k6 run k6/rush.js
  Stop it             npm run down

An operator's token, good for a day (users need one with "role": "user"):
${token}`,
  );
}

/** Up as a whole or not at all. */
async function startUnlessInterrupted(folder: string, signal: AbortSignal): Promise<Lab> {
  try {
    const lab = await Lab.start(folder, tell);
    signal.throwIfAborted();
    return lab;
  } catch (error) {
    await Lab.stop(folder);
    throw error;
  }
}

export async function down({ labFolder }: Place, { json }: Reporting): Promise<void> {
  const stopped = await alone(labFolder, async () => {
    const running = Lab.find(labFolder)?.servers.some(({ alive }) => alive) ?? false;
    await Lab.stop(labFolder);
    return running;
  });
  report(json, { stopped }, () => (stopped ? 'The lab is stopped.' : 'The lab was not running.'));
}

export function status({ labFolder }: Place, { json }: Reporting): void {
  const lab = Lab.find(labFolder);
  const whole = lab?.isWhole() ?? false;
  report(json, { running: whole, url: lab?.baseUrl, shape: lab?.shape, servers: lab?.servers ?? [] }, () => {
    if (!lab) return 'The lab is not running: start it with `npm run up`.';
    const rows = lab.servers.map(({ name, port, pid, alive }) => [
      name,
      String(port),
      alive ? String(pid) : 'GONE',
    ]);
    const { instances, balancer } = lab.shape;
    return `${lab.baseUrl}, ${instances} instances behind ${balancer}\n\n${plainTable(['server', 'port', 'pid'], rows)}`;
  });
  process.exitCode = whole ? 0 : 1;
}

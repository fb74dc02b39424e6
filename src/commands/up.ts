import { signToken } from '../http/tokens.ts';
import { Lab, labTokenSecret } from '../lab/lab.ts';
import { alone } from '../lab/session.ts';
import { plainTable } from '../report/table.ts';
import { type Place, type Reporting, report, tell } from './place.ts';

export async function up({ labFolder }: Place, { json }: Reporting): Promise<void> {
  const lab = await alone(
    labFolder,
    async () => Lab.running(labFolder) ?? (await Lab.start(labFolder, tell)),
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

export async function down({ labFolder }: Place, { json }: Reporting): Promise<void> {
  const stopped = await alone(labFolder, async () => {
    const running = Lab.running(labFolder) !== null;
    await Lab.stop(labFolder);
    return running;
  });
  report(json, { stopped }, () => (stopped ? 'The lab is stopped.' : 'The lab was not running.'));
}

export function status({ labFolder }: Place, { json }: Reporting): void {
  const lab = Lab.running(labFolder);
  report(
    json,
    { running: lab !== null, url: lab?.baseUrl, shape: lab?.shape, servers: lab?.servers ?? [] },
    () => {
      if (!lab) return 'The lab is not running: start it with `npm run up`.';
      const rows = lab.servers.map(({ name, port, pid }) => [name, String(port), String(pid)]);
      const { instances, balancer } = lab.shape;
      return `${lab.baseUrl}, ${instances} instances behind ${balancer}\n\n${plainTable(['server', 'port', 'pid'], rows)}`;
    },
  );
  process.exitCode = lab ? 0 : 1;
}

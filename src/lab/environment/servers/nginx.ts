/** nginx in front of the instances, configured from the template in nginx/. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { programPath } from '../processes.ts';
import type { Server } from './server.ts';
import type { ServiceShape } from './service.ts';

const template = new URL('../../../../nginx/lockstep.conf.template', import.meta.url);

/**
 * Fills in `${NAME}`, as the nginx image does with its environment. The variables of nginx itself
 * have no braces.
 */
export function renderNginx(values: Readonly<Record<string, string>>): string {
  return readFileSync(template, 'utf8').replace(
    /\$\{([A-Z_]+)\}/g,
    (whole, name: string) => values[name] ?? whole,
  );
}

/** Node's cluster distributes connections, not requests, so each request needs a new connection. */
const connections = (balancer: ServiceShape['balancer']) =>
  balancer === 'cluster'
    ? { KEEPALIVE: '1', CONNECTION: 'close' }
    : { KEEPALIVE: '128', CONNECTION: '' };

export const upstreamServers = (ports: readonly number[]): string =>
  ports.map((port) => `server 127.0.0.1:${port} max_fails=3 fail_timeout=2s;`).join('\n    ');

export function nginxServer(
  folder: string,
  port: number,
  instancePorts: readonly number[],
  labId?: string,
  balancer: ServiceShape['balancer'] = 'nginx',
): Server {
  const runFolder = join(folder, 'nginx');
  const file = join(runFolder, 'nginx.conf');
  const errorLog = join(folder, 'nginx.log');
  return {
    name: 'nginx',
    port,
    prepare: async () => {
      mkdirSync(runFolder, { recursive: true });
      writeFileSync(
        file,
        renderNginx({
          RUN_FOLDER: runFolder,
          ERROR_LOG: errorLog,
          LISTEN: `127.0.0.1:${port}`,
          UPSTREAM_SERVERS: upstreamServers(instancePorts),
          ...connections(balancer),
        }),
      );
    },
    program: () => ({
      command: programPath('nginx'),
      args: ['-p', runFolder, '-c', file, '-e', errorLog, '-g', 'daemon off;'],
      logFile: errorLog,
    }),
    answers: async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/livez`);
      return answer.ok && (labId === undefined || answer.headers.get('x-lab-id') === labId);
    },
  };
}

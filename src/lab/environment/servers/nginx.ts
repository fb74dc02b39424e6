/** nginx in front of the instances, configured from the template in nginx/. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { programPath, type Server } from '../processes.ts';
import type { AddressLimits, ServiceShape } from './service.ts';

const template = new URL('../../../../nginx/lockstep.conf.template', import.meta.url);

/**
 * Fills in `${NAME}`, as the nginx image does with its environment. The variables of nginx itself
 * have no braces.
 */
export function renderNginx(
  values: Readonly<Record<string, string>>,
  text = readFileSync(template, 'utf8'),
): string {
  return text.replace(/\$\{([A-Z_]+)\}/g, (whole, name: string) => values[name] ?? whole);
}

/** The paths that only the lab's nginx has, for the benchmark. */
export const nginxAlonePath = '/lab/nginx';
export const barePath = '/lab/bare';
/** Of the same processes, without Hono. */
export const nodePath = `${barePath}/node`;

/**
 * The template with these paths. The upstream and the location of the bare route are the service's
 * own, with other servers: the two cannot be configured differently.
 */
function templateOfLab(): string {
  const text = readFileSync(template, 'utf8');
  const upstream = part(text, / {2}upstream api \{[\s\S]*?\n {2}\}\n/);
  const location = part(text, / {4}location \/ \{[\s\S]*?\n {4}\}\n/);
  const bareUpstream = upstream
    .replace('upstream api', 'upstream bare')
    .replace('zone api', 'zone bare')
    .replace('UPSTREAM_SERVERS', 'BARE_SERVERS');
  const bareLocation = location
    .replace('location /', `location ${barePath}`)
    .replace('http://api', 'http://bare');
  const alone = `    location = ${nginxAlonePath} { return 204; }\n`;
  return text
    .replace(upstream, () => upstream + bareUpstream)
    .replace(location, () => location + bareLocation + alone);
}

function part(text: string, pattern: RegExp): string {
  const found = pattern.exec(text);
  if (!found) throw new RangeError(`nginx/lockstep.conf.template has no ${pattern}`);
  return found[0];
}

/**
 * Node's cluster distributes connections, not requests, so each request needs a new connection.
 * Otherwise nginx may keep 512 idle connections in all: 128 for each of four instances. One above
 * the limit is closed after its request, and a new one costs as much as a request.
 */
const connections = (balancer: ServiceShape['balancer']) =>
  balancer === 'cluster'
    ? { KEEPALIVE: '1', CONNECTION: 'close' }
    : { KEEPALIVE: '512', CONNECTION: '' };

export interface NginxOptions {
  /** Of the instances behind it: it answers once they do. */
  readonly labId?: string | undefined;
  readonly balancer?: ServiceShape['balancer'];
  /** The bare processes of the benchmark. */
  readonly bare?: readonly (number | string)[];
  readonly limits?: AddressLimits | undefined;
}

/** All requests of the lab come from one address. */
const noLimits: AddressLimits = {
  LIMIT_BY: '',
  LIMIT_RATE: '1r/s',
  LIMIT_BURST: '1',
  LIMIT_CONNECTIONS: '1',
};

/** Each is a port of this machine, or the path of a Unix socket. */
export const upstreamServers = (upstreams: readonly (number | string)[]): string =>
  upstreams
    .map((at) => (typeof at === 'number' ? `127.0.0.1:${at}` : `unix:${at}`))
    .flatMap((address) => [
      `server ${address} max_fails=3 fail_timeout=2s max_conns=1000;`,
      `server ${address} max_fails=0 max_conns=1000 backup;`,
    ])
    .join('\n    ');

/** The workers of an nginx of root are `nobody`, who cannot enter every folder of root. */
const directives = () => `daemon off;${process.getuid?.() === 0 ? ' user root;' : ''}`;

export function nginxServer(
  folder: string,
  port: number,
  upstreams: readonly (number | string)[],
  { labId, balancer = 'nginx', bare = [], limits = noLimits }: NginxOptions = {},
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
        renderNginx(
          {
            RUN_FOLDER: runFolder,
            ERROR_LOG: errorLog,
            LISTEN: `127.0.0.1:${port}`,
            WORKER_PROCESSES: '1',
            UPSTREAM_SERVERS: upstreamServers(upstreams),
            BARE_SERVERS: upstreamServers(bare),
            ...connections(balancer),
            ...limits,
          },
          bare.length > 0 ? templateOfLab() : undefined,
        ),
      );
    },
    program: () => ({
      command: programPath('nginx'),
      args: ['-p', runFolder, '-c', file, '-e', errorLog, '-g', directives()],
      logFile: errorLog,
    }),
    answers: async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/livez`);
      return answer.ok && (labId === undefined || answer.headers.get('x-lab-id') === labId);
    },
  };
}

/**
 * RabbitMQ from Debian's package, with its data under the lab's folder, and Erlang's name server
 * (epmd), which RabbitMQ would otherwise start for the whole machine and leave behind.
 */

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { connect } from 'amqplib';
import { labError } from '../../errors.ts';
import { programPath, type Server } from '../processes.ts';

/** Not the one in /usr/sbin, which changes the user and the folders. */
const program = '/usr/lib/rabbitmq/bin/rabbitmq-server';

export const rabbitmqUrl = (port: number): string => `amqp://guest:guest@127.0.0.1:${port}`;

/** Both, in the order in which they start: on this port, and on the next two. */
export const rabbitmqServers = (folder: string, port: number): Server[] => [
  epmdServer(folder, port + 1),
  rabbitmqServer(folder, port),
];

const epmdServer = (folder: string, port: number): Server => ({
  name: 'epmd',
  port,
  program: () => ({
    command: existsSync(program) ? programPath('epmd') : missing(),
    args: ['-address', '127.0.0.1', '-port', String(port)],
    logFile: join(folder, 'epmd.log'),
  }),
  answers: () =>
    new Promise((resolve) => {
      const socket = connectTcp(port, '127.0.0.1');
      socket.on('connect', () => socket.destroy());
      socket.on('error', () => {});
      socket.on('close', (hadError) => resolve(!hadError));
    }),
});

function rabbitmqServer(folder: string, port: number): Server {
  const data = join(folder, 'rabbitmq');
  const settings = join(data, 'rabbitmq');
  return {
    name: 'rabbitmq',
    port,
    prepare: async () => {
      mkdirSync(data, { recursive: true });
      writeFileSync(`${settings}.conf`, 'log.console = true\nlog.file = false\n');
      writeFileSync(join(data, 'plugins'), '[].');
    },
    program: () => ({
      command: existsSync(program) ? program : missing(),
      args: [],
      logFile: join(folder, 'rabbitmq.log'),
      env: environment(data, settings, port),
    }),
    answers: async () => {
      const connection = await connect(rabbitmqUrl(port), { timeout: 2_000 });
      connection.on('error', () => {});
      await connection.close();
      return true;
    },
  };
}

const environment = (data: string, settings: string, port: number): Record<string, string> => ({
  HOME: data, // Of the Erlang cookie.
  RABBITMQ_NODENAME: 'lab@localhost',
  RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
  RABBITMQ_NODE_PORT: String(port),
  ERL_EPMD_ADDRESS: '127.0.0.1',
  ERL_EPMD_PORT: String(port + 1),
  RABBITMQ_DIST_PORT: String(port + 2),
  RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS:
    '-kernel inet_dist_use_interface {127,0,0,1} -start_epmd false +S 2:2',
  RABBITMQ_MNESIA_BASE: join(data, 'mnesia'),
  RABBITMQ_LOG_BASE: join(data, 'log'),
  RABBITMQ_LOGS: '-',
  RABBITMQ_PID_FILE: join(data, 'pid'),
  RABBITMQ_CONFIG_FILE: settings,
  RABBITMQ_ADVANCED_CONFIG_FILE: join(data, 'advanced'),
  RABBITMQ_ENABLED_PLUGINS_FILE: join(data, 'plugins'),
  RABBITMQ_CONF_ENV_FILE: '/dev/null',
  // As under systemd: the Erlang machine replaces the shell, so that a signal reaches it.
  NOTIFY_SOCKET: join(data, 'no-socket'),
});

function missing(): never {
  throw labError('PROGRAM_MISSING', 'rabbitmq-server');
}

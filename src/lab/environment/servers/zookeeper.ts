/**
 * One ZooKeeper from Debian's library, started with Java. Debian's scripts would use the folders of
 * the system.
 */

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { labError } from '../../errors.ts';
import { programPath, type Server } from '../processes.ts';

/** The manifest of the first names further jars. The second writes the log to standard error. */
const jars = ['/usr/share/java/zookeeper.jar', '/usr/share/java/slf4j-simple.jar'];

export function zookeeperServer(folder: string, port: number): Server {
  const data = join(folder, 'zookeeper');
  const file = join(folder, 'zookeeper.cfg');
  return {
    name: 'zookeeper',
    port,
    prepare: async () => {
      mkdirSync(data, { recursive: true });
      writeFileSync(file, settings(data, port));
    },
    program: () => ({
      command: javaWithZookeeper(),
      args: [
        '-Xmx128m',
        '-XX:+UseSerialGC',
        '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
        '-Dorg.slf4j.simpleLogger.showDateTime=true',
        '-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS',
        '-cp',
        jars.join(':'),
        'org.apache.zookeeper.server.quorum.QuorumPeerMain',
        file,
      ],
      logFile: join(folder, 'zookeeper.log'),
    }),
    answers: () => answers(port),
  };
}

/** The shortest session that ZooKeeper allows is 2 ticks; the longest is set here. */
const settings = (data: string, port: number): string => `
tickTime=500
maxSessionTimeout=20000
dataDir=${data}
clientPort=${port}
clientPortAddress=127.0.0.1
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=srvr,cons
autopurge.purgeInterval=1
`;

function javaWithZookeeper(): string {
  if (!jars.every((jar) => existsSync(jar))) throw labError('PROGRAM_MISSING', 'zookeeper');
  return programPath('java');
}

/** `srvr` is the one command that ZooKeeper answers by default. */
async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  socket.setTimeout(1_000, () => socket.destroy(new Error('no answer in 1000 ms')));
  socket.write('srvr');
  return (await text(socket)).includes('Mode: standalone');
}

/** The sessions that have a connection to the lab's ZooKeeper, by its command `cons`. */
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

export async function zookeeperSessions(port: number): Promise<string[]> {
  const socket = connect(port, '127.0.0.1');
  socket.setTimeout(5_000, () => socket.destroy(new Error('no answer in 5000 ms')));
  socket.write('cons');
  const connections = await text(socket);
  return [...connections.matchAll(/sid=(0x[0-9a-f]+)/g)].map(([, session = '']) => session);
}

/** A TCP proxy that can pass a request on and then cut the connection instead of handing the answer back. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface SwallowingProxy {
  readonly port: number;
  /** From now on, the next answer is swallowed and its connection cut. */
  swallowNextAnswer(): void;
}

export async function swallowingProxy(toPort: number): Promise<SwallowingProxy> {
  let armed = false;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(toPort, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => [client, upstream].forEach((end) => void end.destroy()));
    }
    client.pipe(upstream);
    upstream.on('data', (answer) => {
      if (!armed) return void client.write(answer);
      armed = false;
      client.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    swallowNextAnswer: () => {
      armed = true;
    },
  };
}

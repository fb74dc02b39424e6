/**
 * A TCP proxy that can pass a request on and then cut the connection instead of handing the answer
 * back; or be cut.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface SwallowingProxy {
  readonly port: number;
  /** From now on, the next answer is swallowed and its connection cut. */
  swallowNextAnswer(): void;
  /** From now on, connections are cut as soon as they are made; those that there are, too. */
  cut(): void;
  /** From now on, nothing passes, and nobody is told. */
  hold(): void;
  /** Passes everything on again, on new connections. */
  mend(): void;
}

export async function swallowingProxy(toPort: number): Promise<SwallowingProxy> {
  let armed = false;
  let state: 'open' | 'cut' | 'held' = 'open';
  const sockets = new Set<Socket>();
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer((client) => {
    if (state === 'cut') return void client.destroy();
    const upstream = connect(toPort, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => [client, upstream].forEach((end) => void end.destroy()));
    }
    client.on('data', (request) => void (state === 'held' || upstream.write(request)));
    upstream.on('data', (answer) => {
      if (state === 'held') return;
      if (!armed) return void client.write(answer);
      armed = false;
      client.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    destroyAll();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    swallowNextAnswer: () => {
      armed = true;
    },
    cut: () => {
      state = 'cut';
      destroyAll();
    },
    hold: () => {
      state = 'held';
    },
    mend: () => {
      state = 'open';
      destroyAll();
    },
  };
}

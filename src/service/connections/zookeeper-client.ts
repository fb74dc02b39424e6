/**
 * node-zookeeper-client 1.1.3 with three repairs. It never times out a read, it keeps half of a cut
 * answer for the next connection, and an answer that it cannot parse becomes an uncaught exception.
 */
import { once } from 'node:events';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type { Client } from 'node-zookeeper-client';

type ZookeeperPackage = typeof import('node-zookeeper-client');
const load = createRequire(import.meta.url);

/** Loaded with the first session: 10 MB that a process without ZooKeeper does not need. */
export const zookeeperPackage = () => load('node-zookeeper-client') as ZookeeperPackage;

/** The internals that the repairs need. */
interface Internals {
  readonly connectionManager: {
    pendingBuffer: Buffer | null;
    readonly socket?: Socket;
    onSocketData(bytes: Buffer): void;
    on(event: 'state', listener: (state: number) => void): void;
  };
}

/** The internal state in which a connection is being made. */
const connecting = 1;

export interface ClientConnection {
  readonly client: Client;
  /**
   * Closes the connection; unless the client was closed, it makes another and stays in its session.
   */
  hangUp(): void;
  /** Resolves when the present connection has ended. */
  closed(): Promise<void>;
}

export function openClient(servers: string, sessionTimeout: number): ClientConnection {
  const client = zookeeperPackage().createClient(servers, { sessionTimeout, spinDelay: 100 });
  client.setMaxListeners(0);
  const inside = (client as unknown as Internals).connectionManager;
  const hangUp = () => void inside.socket?.destroy();
  const read = inside.onSocketData.bind(inside);
  inside.onSocketData = (bytes) => {
    try {
      read(bytes);
    } catch {
      hangUp(); // An unknown error code, or data after the client was closed.
    }
  };
  inside.on('state', (state) => {
    if (state === connecting) inside.pendingBuffer = null;
  });
  client.connect();
  return { client, hangUp, closed: () => ended(inside.socket) };
}

async function ended(socket?: Socket): Promise<void> {
  if (socket && !socket.closed) await once(socket, 'close').catch(() => {});
}

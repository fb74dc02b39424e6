/**
 * node-zookeeper-client 1.1.3 with what it lacks. It never times a read out, keeps half of an answer that was cut for
 * the next connection, and throws what it cannot read at the whole process.
 */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { type Client, createClient } from 'node-zookeeper-client';

/** The part of its inside that is needed for that. */
interface Internals {
  readonly connectionManager: {
    pendingBuffer: Buffer | null;
    readonly socket?: Socket;
    onSocketData(bytes: Buffer): void;
    on(event: 'state', listener: (state: number) => void): void;
  };
}

/** A connection is being made: one of its inner states. */
const connecting = 1;

export interface ClientConnection {
  readonly client: Client;
  /** Cuts the connection; unless it was closed, the client makes another and stays in its session. */
  hangUp(): void;
  /** Resolves when the connection that there is now has ended. */
  closed(): Promise<void>;
}

export function openClient(servers: string, sessionTimeout: number): ClientConnection {
  const client = createClient(servers, { sessionTimeout, spinDelay: 100 });
  client.setMaxListeners(0);
  const inside = (client as unknown as Internals).connectionManager;
  const hangUp = () => void inside.socket?.destroy();
  const read = inside.onSocketData.bind(inside);
  inside.onSocketData = (bytes) => {
    try {
      read(bytes);
    } catch {
      hangUp(); // An error code that it does not know, or what comes in after it was closed.
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

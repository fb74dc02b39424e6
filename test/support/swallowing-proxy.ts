/**
 * A TCP proxy that can pass a request on and then cut the connection instead of handing the answer
 * back; or be cut.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface SwallowingProxy {
  readonly port: number;
  /**
   * From now on, the next answer is swallowed and its connection cut.
   * @param to a word of the request: answers on connections that have not sent it since are passed
   *   on. Without it, an answer that another client still waits for may be the next one.
   */
  swallowNextAnswer(to?: string): void;
  /** From now on, connections are cut as soon as they are made; those that there are, too. */
  cut(): void;
  /** From now on, nothing passes, and nobody is told. */
  hold(): void;
  /**
   * The connections that there are freeze: they stay open, nothing passes, and neither end hears
   * when the other one closes. New connections work, as after a failover behind one address.
   */
  freeze(): void;
  /**
   * What was sent on frozen connections arrives now, after all: packets that were lost are sent
   * again. Resolves when the server has answered it, or has closed the connection before.
   */
  thaw(): Promise<void>;
  /** Passes everything on again, on new connections. */
  mend(): void;
}

interface Limits {
  /** So many answers are passed on to each connection; it is cut at the next one. */
  readonly answersEach?: number;
}

/** Before the server of this URL; its own URL is the same but for the port. */
export async function proxyBefore(
  url: string,
  limits: Limits = {},
): Promise<SwallowingProxy & { readonly url: string }> {
  const behind = new URL(url);
  const proxy = await swallowingProxy(Number(behind.port), limits);
  behind.port = String(proxy.port);
  return { ...proxy, url: behind.href };
}

export async function swallowingProxy(
  toPort: number,
  { answersEach = Number.POSITIVE_INFINITY }: Limits = {},
): Promise<SwallowingProxy> {
  let swallowing: { readonly to: string; readonly asked: WeakSet<Socket> } | null = null;
  let state: 'open' | 'cut' | 'held' = 'open';
  const sockets = new Set<Socket>();
  const frozen = new WeakSet<Socket>();
  const late = new Map<Socket, Buffer[]>();
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer((client) => {
    if (state === 'cut') return void client.destroy();
    const upstream = connect(toPort, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        if (!frozen.has(client)) for (const end of [client, upstream]) end.destroy();
      });
    }
    let left = answersEach;
    const isSilent = () => state === 'held' || frozen.has(client);
    client.on('data', (request: Buffer) => {
      if (swallowing && request.includes(swallowing.to)) swallowing.asked.add(client);
      if (frozen.has(client)) late.set(upstream, [...(late.get(upstream) ?? []), request]);
      if (!isSilent()) upstream.write(request);
    });
    upstream.on('data', (answer) => {
      if (isSilent()) return;
      left -= 1;
      if (left < 0) return void client.destroy();
      const isNext = swallowing && (swallowing.to === '' || swallowing.asked.has(client));
      if (!isNext) return void client.write(answer);
      swallowing = null;
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
    swallowNextAnswer: (to = '') => {
      swallowing = { to, asked: new WeakSet() };
    },
    cut: () => {
      state = 'cut';
      destroyAll();
    },
    hold: () => {
      state = 'held';
    },
    freeze: () => {
      for (const socket of sockets) frozen.add(socket);
    },
    thaw: async () => {
      for (const [upstream, requests] of late) {
        if (upstream.destroyed) continue;
        const heard = Promise.race([once(upstream, 'data'), once(upstream, 'close')]);
        upstream.write(Buffer.concat(requests));
        await heard;
      }
      late.clear();
    },
    mend: () => {
      state = 'open';
      destroyAll();
    },
  };
}

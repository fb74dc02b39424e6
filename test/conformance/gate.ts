/** A TCP proxy in front of one master: requests and answers can be late, and answers be lost. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Gate {
  readonly port: number;
  /** From now on, every request is so late. */
  delayRequests(ms: number): void;
  /** From now on, answers wait until they are let through. */
  keepAnswers(): void;
  letAnswersThrough(): void;
  /** The next answer is lost, and its connection is cut. */
  loseNextAnswer(): void;
  /** How many answers were lost. */
  lost(): number;
  close(): void;
}

export async function openGate(toPort: number): Promise<Gate> {
  const sockets = new Set<Socket>();
  let kept: (() => void)[] | null = null;
  let delayMs = 0;
  let losesNext = false;
  let lost = 0;

  const pass = (client: Socket, answer: Buffer) => {
    if (losesNext) {
      losesNext = false;
      lost += 1;
      client.destroy();
    } else if (kept) kept.push(() => client.write(answer));
    else client.write(answer);
  };
  const server = createServer((client) => {
    const master = connect(toPort, '127.0.0.1');
    for (const socket of [client, master]) sockets.add(socket);
    endTogether(client, master);
    client.on('data', (request) => {
      if (delayMs > 0) setTimeout(() => master.write(request), delayMs);
      else master.write(request);
    });
    master.on('data', (answer: Buffer) => pass(client, answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    delayRequests: (ms) => {
      delayMs = ms;
    },
    keepAnswers: () => {
      kept = [];
    },
    letAnswersThrough: () => {
      const waiting = kept ?? [];
      kept = null;
      for (const write of waiting) write();
    },
    loseNextAnswer: () => {
      losesNext = true;
    },
    lost: () => lost,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

function endTogether(...pair: readonly [Socket, Socket]): void {
  for (const socket of pair) {
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('close', () => {
      for (const end of pair) end.destroy();
    });
  }
}

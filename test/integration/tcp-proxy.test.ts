/** The proxy of the lab's faults, between a client and a server of the test's own. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { TcpProxy } from '../../src/lab/environment/proxy/tcp-proxy.ts';

/** @param answer what the server does with a connection */
async function behindProxy(answer: (socket: Socket) => void = () => {}) {
  const sockets: Socket[] = [];
  const server = createServer(answer).listen(0, '127.0.0.1');
  server.on('connection', (socket) => sockets.push(socket));
  await once(server, 'listening');
  const proxy = new TcpProxy(0, (server.address() as AddressInfo).port);
  await proxy.listen();
  onTestFinished(() => {
    proxy.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { server, proxy, connected: () => connect(proxy.port, '127.0.0.1') };
}

test('a connection whose client went away behind a dropped network ends at the server when it is healed', async () => {
  const { server, proxy, connected } = await behindProxy();
  const client = connected();
  const [atServer] = (await once(server, 'connection')) as [Socket];
  atServer.resume();
  await proxy.setToxics([{ type: 'timeout', pid: 1 }]);
  expect(proxy.state.spoiled).toBe(0); // That process has no connection.
  await proxy.setToxics([{ type: 'timeout' }]);
  expect(proxy.state.spoiled).toBe(1);
  client.destroy();
  await once(client, 'close');
  connected();
  const [nextAtServer] = (await once(server, 'connection')) as [Socket]; // The proxy has seen both.
  expect(proxy.state.spoiled).toBe(2);
  expect(atServer.closed).toBe(false);
  await proxy.setToxics([]);
  await expect.poll(() => atServer.closed).toBe(true);
  expect(nextAtServer.closed).toBe(false);
});

test('late requests of a client that has gone away still arrive, and then its end', async () => {
  const { server, proxy, connected } = await behindProxy();
  const client = connected();
  const [atServer] = (await once(server, 'connection')) as [Socket];
  await proxy.setToxics([{ type: 'latency', stream: 'upstream', latencyMs: 300 }]);
  let received = '';
  atServer.on('data', (data: Buffer) => {
    received += String(data);
  });
  client.end('a request');
  await once(client, 'close');
  expect(received).toBe('');
  await proxy.setToxics([]); // What is on its way still comes late.
  await once(atServer, 'close');
  expect(received).toBe('a request');
});

const heardBy = (socket: Socket): Promise<string> => once(socket, 'data').then(String);

test('what was sent on a frozen connection arrives later, although its client has gone away', async () => {
  let received = '';
  const { server, proxy, connected } = await behindProxy((socket) => {
    socket.on('data', (data) => {
      received += String(data);
      socket.write(`answer to ${data}`);
    });
  });
  const frozen = connected();
  await once(server, 'connection');
  await proxy.setToxics([
    { type: 'keep', stream: 'upstream', onlyOpen: true },
    { type: 'timeout', stream: 'downstream', onlyOpen: true },
  ]);
  frozen.end('a late request');
  await once(frozen, 'close');
  const next = connected();
  next.write('another');
  expect(await heardBy(next)).toBe('answer to another');
  expect(received).toBe('another');
  await proxy.thaw();
  expect(received).toBe('anothera late request');
});

test('one answer is swallowed: that to the word, after those that each connection may have', async () => {
  const { proxy, connected } = await behindProxy((socket) => socket.pipe(socket));
  const [one, other] = [connected(), connected()];
  await proxy.setToxics([{ type: 'swallow', asked: 'mine', after: 1 }]);
  const ask = (socket: Socket, word: string) => {
    socket.write(word);
    return heardBy(socket);
  };
  expect(await ask(one, 'mine')).toBe('mine');
  expect(await ask(other, 'first')).toBe('first');
  expect(await ask(other, 'second')).toBe('second');
  one.write('third');
  await once(one, 'close');
  expect(proxy.state.toxics).toEqual([]);
  expect(await ask(other, 'mine')).toBe('mine');
});

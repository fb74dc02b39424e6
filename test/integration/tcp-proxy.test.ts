/** The proxy of the lab's faults, between a client and a server of the test's own. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { TcpProxy } from '../../src/lab/environment/proxy/tcp-proxy.ts';
import { ownPorts } from '../support/servers.ts';

test('a connection whose client went away behind a dropped network ends at the server when it is healed', async () => {
  const port = await ownPorts(20_700, 2);
  const server = createServer().listen(port, '127.0.0.1');
  const proxy = new TcpProxy(port + 1, port);
  await proxy.listen();
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket));
  onTestFinished(() => {
    proxy.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const client = connect(port + 1, '127.0.0.1');
  const [atServer] = (await once(server, 'connection')) as [Socket];
  atServer.resume();
  await proxy.setToxics([{ type: 'timeout', pid: 1 }]);
  expect(proxy.state.spoiled).toBe(0); // That process has no connection.
  await proxy.setToxics([{ type: 'timeout' }]);
  expect(proxy.state.spoiled).toBe(1);
  client.destroy();
  await once(client, 'close');
  connect(port + 1, '127.0.0.1');
  const [nextAtServer] = (await once(server, 'connection')) as [Socket]; // The proxy has seen both.
  expect(proxy.state.spoiled).toBe(2);
  expect(atServer.closed).toBe(false);
  await proxy.setToxics([]);
  await expect.poll(() => atServer.closed).toBe(true);
  expect(nextAtServer.closed).toBe(false);
});

test('late requests of a client that has gone away still arrive, and then its end', async () => {
  const port = await ownPorts(20_700, 2);
  const server = createServer().listen(port, '127.0.0.1');
  const proxy = new TcpProxy(port + 1, port);
  await proxy.listen();
  onTestFinished(() => {
    proxy.close();
    server.close();
  });
  const client = connect(port + 1, '127.0.0.1');
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

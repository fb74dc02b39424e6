/** The process of the lab's proxies. Argument: a ProxyPlan as JSON. */
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { z } from 'zod';
import { TcpProxy } from './tcp-proxy.ts';
import { ProxyPlan, Toxic } from './toxic.ts';

const plan = ProxyPlan.parse(JSON.parse(process.argv[2] ?? ''));
const proxies = new Map(
  plan.proxies.map(({ name, port, upstreamPort }) => [name, new TcpProxy(port, upstreamPort)]),
);
const Wanted = z.object({ toxics: z.array(Toxic), upstreamPort: z.int().optional() });

const control = new Hono()
  .get('/proxies', (c) =>
    c.json(Object.fromEntries([...proxies].map(([name, proxy]) => [name, proxy.state]))),
  )
  .put('/proxies/:name', async (c) => {
    const proxy = proxies.get(c.req.param('name'));
    if (!proxy) return c.notFound();
    const { toxics, upstreamPort } = Wanted.parse(await c.req.json());
    if (upstreamPort !== undefined) proxy.forwardTo(upstreamPort);
    await proxy.setToxics(toxics);
    return c.body(null, 204);
  });

for (const proxy of proxies.values()) await proxy.listen();
serve({ fetch: control.fetch, port: plan.controlPort, hostname: '127.0.0.1' });

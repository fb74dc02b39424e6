/** The ways in which a proxy spoils a connection: the words of Toxiproxy, and their forms. */
import { z } from 'zod';

/** `upstream` is to the server, `downstream` is back to the client. */
const streams = ['upstream', 'downstream'] as const;
export type Stream = (typeof streams)[number];

export const Toxic = z.object({
  /**
   * `latency`: each piece of data comes `latencyMs` late. `timeout`: no data comes at all, and
   * nobody is told. `reset_peer`: connections are reset. `down`: connections are refused.
   */
  type: z.enum(['latency', 'timeout', 'reset_peer', 'down']),
  latencyMs: z.int().min(0).default(0),
  /** Both without it; for `latency` and `timeout`. */
  stream: z.enum(streams).optional(),
  /** Only connections from this process; for all but `down`. */
  pid: z.int().optional(),
});
export type Toxic = z.infer<typeof Toxic>;

export interface ProxyState {
  readonly upstreamPort: number;
  readonly toxics: readonly Toxic[];
  /** The connections that these toxics have hit. */
  readonly spoiled: number;
}

/** What the proxies' process is started with. */
export const ProxyPlan = z.object({
  controlPort: z.int(),
  proxies: z.array(z.object({ name: z.string(), port: z.int(), upstreamPort: z.int() })),
});
export type ProxyPlan = z.infer<typeof ProxyPlan>;

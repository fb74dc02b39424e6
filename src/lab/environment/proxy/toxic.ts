/** The ways in which a proxy spoils a connection: the words of Toxiproxy, and their forms. */
import { z } from 'zod';

/** `upstream` is to the server, `downstream` is back to the client. */
const streams = ['upstream', 'downstream'] as const;
export type Stream = (typeof streams)[number];

export const Toxic = z.object({
  /**
   * `latency`: each piece of data comes `latencyMs` late. `timeout`: no data comes at all, and
   * nobody is told. `keep`: data comes when the toxic is gone. `swallow`: the next answer is lost
   * and its connection cut; then the toxic is gone. `reset_peer`: connections are reset. `down`:
   * connections are refused.
   */
  type: z.enum(['latency', 'timeout', 'keep', 'swallow', 'reset_peer', 'down']),
  latencyMs: z.int().min(0).optional(),
  /** Both without it; for `latency`, `timeout` and `keep`. */
  stream: z.enum(streams).optional(),
  /** Only an answer on a connection that has sent this word since; for `swallow`. */
  asked: z.string().optional(),
  /** How many answers of each connection are passed on first; for `swallow`. */
  after: z.int().min(0).optional(),
  /** Only connections that are open when the toxic comes; for `timeout` and `keep`. */
  onlyOpen: z.boolean().optional(),
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

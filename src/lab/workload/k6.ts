/** A script of k6/ as a load: its attempts while it runs, then its summary and its exit code. */
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { z } from 'zod';
import type { Attempt } from '../../service/audit/facts.ts';

export interface K6Run {
  /** 0: every promise was kept; 99: one was not; anything else: the run could not tell. */
  readonly exitCode: number | undefined;
  readonly summary: string;
  readonly errors: string;
}

/** An attempt of k6. Without an answer it has no latency. */
export type K6Attempt = Pick<Attempt, 'outcome' | 'reason'> &
  Partial<Pick<Attempt, 'latencyMs'>> & { readonly answeredAt: string };

const root = fileURLToPath(new URL('../../../', import.meta.url));
/** After the first SIGTERM k6 still audits the sale, which nobody needs; the second one ends it. */
const betweenSignalsMs = 500;

/** @param settings of the script: BASE_URL, SECONDS, … */
export async function runK6(
  script: string,
  settings: Readonly<Record<string, string>>,
  onAttempt: (attempt: K6Attempt) => void,
  signal: AbortSignal,
): Promise<K6Run> {
  const toAttempt = attemptReader();
  /** Points and the summary come in one stream, because a container has no file of ours. */
  const withoutPoints = function* (line: unknown) {
    const text = String(line);
    if (!isPoint(text)) yield text;
    const attempt = toAttempt(text);
    if (attempt) onAttempt(attempt);
  };
  const args = ['scripts/k6.mjs', `k6/${script}`, '--quiet', '--out', 'json'];
  const child = execa(process.execPath, args, {
    cwd: root,
    env: settings,
    stdin: 'ignore',
    stdout: withoutPoints,
    reject: false,
  });
  const end = (): void => {
    child.kill();
    setTimeout(() => child.kill(), betweenSignalsMs);
  };
  signal.addEventListener('abort', end, { once: true });
  const { exitCode, stdout, stderr } = await child;
  signal.removeEventListener('abort', end);
  return { exitCode, summary: String(stdout), errors: String(stderr) };
}

const isPoint = (line: string): boolean => line.startsWith('{"');

const Point = z.object({
  type: z.literal('Point'),
  data: z.object({
    time: z.string(),
    value: z.number(),
    tags: z.object({ outcome: z.string(), answer: z.string() }).partial(),
  }),
});

/**
 * Reads a line of `--out json`: an attempt, or null. k6 has the time of the day; attempts have the
 * clock of the history.
 */
export function attemptReader(): (line: string) => K6Attempt | null {
  const clockMinusDay = process.hrtime.bigint() - BigInt(Date.now()) * 1_000_000n;
  return (line) => {
    const [, metric = ''] =
      /^\{"metric":"(purchase_latency|unknown|no_connection)"/.exec(line) ?? [];
    const point = metric === '' ? null : Point.safeParse(JSON.parse(line));
    if (!point?.success) return null;
    const { time, value, tags } = point.data.data;
    const answeredAt = String(BigInt(Date.parse(time)) * 1_000_000n + clockMinusDay);
    const { outcome } = tags;
    if (outcome !== undefined) return { ...outcomeOf(outcome), answeredAt, latencyMs: value };
    if (tags.answer !== 'none') return null; // The same attempt has a point with its latency.
    return { ...outcomeOf(metric.replace('_', '-')), answeredAt };
  };
}

/** By the census of k6/lib/census.js. */
function outcomeOf(census: string): Pick<Attempt, 'outcome' | 'reason'> {
  if (census === 'accepted') return { outcome: 'accepted' };
  const isUnknown = census === 'unknown' || census === 'unexpected';
  return { outcome: isUnknown ? 'unknown' : 'refused', reason: census };
}

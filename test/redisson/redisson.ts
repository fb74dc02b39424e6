/**
 * A real Redisson for the tests: its jars, kept under .lockstep, and the classes of test/redisson.
 */
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { execa } from 'execa';
import { type Kind, type StormKey, stormKeys } from '../../src/lab/lock-storm/kinds.ts';
import { times } from '../../src/lab/lock-storm/plan.ts';
import { worker } from '../support/servers.ts';

const source = new URL('./', import.meta.url).pathname;
const jars = join(process.cwd(), '.lockstep', 'redisson');
/** Of this process: another worker may compile them too. */
const classes = join(process.cwd(), '.lockstep', `redisson-classes-${worker}`);

const has = (program: string) =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)));

/** @returns the class path, or null: then it says what is missing, and the tests do not run. */
export async function redissonClassPath(): Promise<string | null> {
  const missing = ['java', 'javac', 'mvn'].filter((program) => !has(program));
  if (missing.length > 0) return isMissing(`${missing.join(', ')}: a JDK 17 and Maven`);
  try {
    await fetchJars();
  } catch {
    return isMissing('its jars, which Maven cannot fetch');
  }
  const sources = readdirSync(source).filter((file) => file.endsWith('.java'));
  const paths = sources.map((file) => join(source, file));
  await execa('javac', [
    '-nowarn',
    '-encoding',
    'UTF-8',
    '-cp',
    `${jars}/*`,
    '-d',
    classes,
    ...paths,
  ]);
  return `${classes}${delimiter}${jars}/*`;
}

function isMissing(what: string): null {
  console.warn(`REDISSON IS MISSING: the tests beside it are NOT RUN. Get ${what}.`);
  return null;
}

async function fetchJars(): Promise<void> {
  const isThere = () => existsSync(jars) && readdirSync(jars).length > 0;
  if (isThere()) return;
  const fresh = `${jars}.${process.pid}`; // Renamed later: another worker may want them too.
  const args = ['-q', '-B', '-f', join(source, 'pom.xml'), 'dependency:copy-dependencies'];
  await execa('mvn', [...args, `-DoutputDirectory=${fresh}`], { timeout: 240_000 });
  if (isThere()) rmSync(fresh, { recursive: true });
  else renameSync(fresh, jars);
}

/** Where JVMs use `tryLock(wait, unit)` on a fair lock: see docs/library.md. */
const shortTurns: StormKey = {
  rung: 'redis-fair',
  key: 'redis-fair-short-turns',
  arrival: 'crowd',
  hasShortTurns: true,
};
export const stormKeysBesideRedisson: readonly StormKey[] = [...stormKeys, shortTurns];

/** How the threads of a JVM ask for a key. */
function threads({ rung, arrival, hasShortTurns }: StormKey): string[] {
  if (hasShortTurns) return ['lock', 'tryLock-seconds', 'tryLock-milliseconds'];
  if (arrival === 'bell') return ['lock'];
  return rung === 'redis-fair' ? ['lock', 'lock'] : ['lock', 'lock', 'tryLock-seconds'];
}

const starves = ({ hasShortTurns }: StormKey, style: string): boolean =>
  hasShortTurns === true && style !== 'lock';

/** `classPath` has Redisson and the compiled StormContender. */
export function jvms(count: number, keys: readonly StormKey[], classPath: string): Kind {
  const withThreads = keys.map((key) => ({ key, styles: threads(key) }));
  return {
    kind: 'jvm',
    count,
    lanes: withThreads.flatMap(({ key, styles }) =>
      styles.flatMap((style, number) => (starves(key, style) ? [] : [`${key.key} ${number}`])),
    ),
    program: ({ name, seed, folder, redisUrl }) => ({
      file: 'java',
      args: [
        ...['-XX:TieredStopAtLevel=1', '-cp', classPath, 'StormContender', name, String(seed)],
        ...[folder, redisUrl, String(times.lease), String(times.bell)],
        ...withThreads.map(({ key: { key, rung, arrival }, styles }) =>
          [key, rung, arrival, styles.join(',')].join('/'),
        ),
      ],
      env: {},
    }),
  };
}

/**
 * A real Redisson for the tests: its jars, kept under .lockstep, and the classes of test/redisson.
 */
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { execa } from 'execa';
import { worker } from './own-ports.ts';

const source = new URL('../redisson/', import.meta.url).pathname;
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
  await execa('javac', ['-nowarn', '-cp', `${jars}/*`, '-d', classes, ...paths]);
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

// Newer servers than Debian stable has, from the packages of Debian unstable: unpacked into
// .lockstep/, not installed (20 to 60 MB each, seconds). The lab uses MariaDB, and Debian's Redis
// and nginx; the tests also run on MySQL, which answers some statements differently, and on the
// newer Redis and nginx.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Name, and folder below .lockstep/ → the package and the program in it. */
export const unstableServers = {
  mysql: { debian: 'mysql-server-core', program: 'usr/sbin/mysqld' },
  redis: { debian: 'redis-server', program: 'usr/bin/redis-server' },
  nginx: { debian: 'nginx', program: 'usr/sbin/nginx' },
};
const left = /^(debconf|cdebconf|perl|perl-base|dpkg|tar|gcc-.*base)$/;
const quietly = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] };
const run = (program, ...args) => execFileSync(program, args, quietly);

export const isUnpacked = (home, name) =>
  existsSync(join(home, name, unstableServers[name].program));

/** @returns the names of the servers that are still missing afterwards. */
export function unpackServers(home, names) {
  const missing = names.filter((name) => !isUnpacked(home, name));
  if (missing.length === 0) return [];
  const work = join(home, 'unstable.work');
  try {
    rmSync(work, { recursive: true, force: true });
    const configuration = prepareApt(work);
    for (const name of missing) unpack(home, name, work, configuration);
  } catch (error) {
    const lines = String(error.stderr || error.message).trim();
    console.error(lines.split('\n').at(-1));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return missing.filter((name) => !isUnpacked(home, name));
}

function unpack(home, name, work, configuration) {
  const { debian, program } = unstableServers[name];
  const [debs, root] = [join(work, 'debs', name), join(work, 'root', name)];
  for (const folder of [debs, root]) mkdirSync(folder, { recursive: true });
  const needed = packagesOf(debian, configuration);
  const download = ['-c', configuration, 'download', '-qq', ...needed];
  execFileSync('apt-get', download, { ...quietly, cwd: debs });
  for (const deb of readdirSync(debs)) run('dpkg', '-x', join(debs, deb), root);
  rmSync(join(home, name), { recursive: true, force: true });
  writeStarter(root, join(home, name), program);
  renameSync(root, join(home, name)); // Whole or not at all.
}

/** The package, and all packages that it depends on. */
function packagesOf(debian, configuration) {
  const recursive = ['--recurse', '--no-recommends', '--no-suggests', '--no-conflicts'];
  const others = ['--no-breaks', '--no-replaces', '--no-enhances'];
  const args = ['-c', configuration, 'depends', ...recursive, ...others, debian];
  const names = run('apt-cache', ...args).split('\n');
  return [...new Set(names)].filter((name) => /^[a-z0-9]/.test(name) && !left.test(name));
}

/** start/<program>: runs the program with the loader and the libraries that came with it. */
function writeStarter(root, home, program) {
  mkdirSync(join(root, 'start'));
  const libraries = join(home, 'usr/lib/x86_64-linux-gnu');
  const loader = `"${join(home, 'usr/lib64/ld-linux-x86-64.so.2')}" --library-path "${libraries}"`;
  const script = `#!/bin/sh\nexec ${loader} "${join(home, program)}" "$@"\n`;
  const name = program.split('/').at(-1);
  writeFileSync(join(root, 'start', name), script, { mode: 0o755 });
}

/** apt with its own lists and cache, so that the machine's own packages are not touched. */
function prepareApt(work) {
  for (const folder of ['lists/partial', 'cache/archives/partial'])
    mkdirSync(join(work, folder), { recursive: true });
  const targets = run('apt-get', 'indextargets', '--format', '$(SITE)', 'Created-By: Packages');
  const site = targets.split('\n').find((line) => line !== '' && !line.includes('-security'));
  const keys = '/usr/share/keyrings/debian-archive-keyring.gpg';
  writeFileSync(join(work, 'sources.list'), `deb [signed-by=${keys}] ${site} sid main\n`);
  writeFileSync(join(work, 'status'), '');
  const lines = [
    `Dir::State "${work}";`,
    'Dir::State::lists "lists";',
    `Dir::State::status "${work}/status";`,
    `Dir::Cache "${work}/cache";`,
    `Dir::Etc::sourcelist "${work}/sources.list";`,
    'Dir::Etc::sourceparts "/dev/null";',
    'Acquire::Check-Valid-Until "false";',
    'APT::Sandbox::User "root";',
  ];
  const file = join(work, 'apt.conf');
  writeFileSync(file, `${lines.join('\n')}\n`);
  run('apt-get', '-c', file, 'update', '-qq');
  return file;
}

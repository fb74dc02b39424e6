// Unpacks MySQL from the packages of Debian unstable into .lockstep/mysql, without installing it
// (56 MB, seconds).
// The lab uses MariaDB; MySQL answers some statements differently, so the tests run on both.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const left = /^(debconf|cdebconf|perl|perl-base|dpkg|tar|gcc-.*base)$/;
const quietly = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] };
const run = (program, ...args) => execFileSync(program, args, quietly);

/** True when MySQL is there afterwards. */
export function unpackMysql(home) {
  const root = join(home, 'mysql');
  if (existsSync(join(root, 'usr', 'sbin', 'mysqld'))) return true;
  const work = join(home, 'mysql.work');
  try {
    rmSync(work, { recursive: true, force: true });
    unpack(work);
    rmSync(root, { recursive: true, force: true });
    renameSync(join(work, 'root'), root); // Whole or not at all.
    return true;
  } catch (error) {
    console.error(
      String(error.stderr || error.message)
        .trim()
        .split('\n')
        .at(-1),
    );
    return false;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function unpack(work) {
  for (const folder of ['lists/partial', 'cache/archives/partial', 'debs', 'root'])
    mkdirSync(join(work, folder), { recursive: true });
  const configuration = configure(work);
  run('apt-get', '-c', configuration, 'update', '-qq');
  const recursive = ['--recurse', '--no-recommends', '--no-suggests', '--no-conflicts'];
  const other = ['--no-breaks', '--no-replaces', '--no-enhances'];
  const depends = run(
    'apt-cache',
    '-c',
    configuration,
    'depends',
    ...recursive,
    ...other,
    'mysql-server-core',
  );
  const packages = [...new Set(depends.split('\n').filter((line) => /^[a-z0-9]/.test(line)))];
  const wanted = packages.filter((name) => !left.test(name));
  const debs = join(work, 'debs');
  execFileSync('apt-get', ['-c', configuration, 'download', '-qq', ...wanted], {
    ...quietly,
    cwd: debs,
  });
  for (const deb of readdirSync(debs)) run('dpkg', '-x', join(debs, deb), join(work, 'root'));
}

/** apt with its own lists and cache, so that the machine's own packages are not touched. */
function configure(work) {
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
  return file;
}

/** The processes of a lab by their role. Its load generators are the children of this process. */
import type { Lab } from '../environment/lab.ts';
import { childrenWith } from '../environment/process-table.ts';
import type { CpuRole, RoleProcess } from './cpu-by-role.ts';

/** The servers of the lab; those that are not here are `others`. */
const roles: Readonly<Record<string, CpuRole>> = {
  nginx: 'nginx',
  'redis-main': 'redis',
  mariadb: 'database',
  mysql: 'database',
};

/** Those whose children answer requests. A child of Redis counts when it has ended. */
const withChildren: Readonly<Record<string, (instance: string) => CpuRole>> = {
  nginx: () => 'nginx',
  service: (instance) => (/-worker-\d+$/.test(instance) ? 'worker' : 'api'),
};

export function labProcesses(lab: Lab): RoleProcess[] {
  const processes: RoleProcess[] = [{ role: 'load', pid: process.pid }];
  for (const { name, pid } of lab.servers) {
    processes.push({ role: roles[name] ?? 'others', pid });
    const roleOf = withChildren[name];
    if (!roleOf) continue;
    for (const child of childrenWith('INSTANCE', pid))
      processes.push({ role: roleOf(child.value), pid: child.pid });
  }
  return processes;
}

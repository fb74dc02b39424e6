/**
 * The database takes no writes: `SET GLOBAL read_only`, as after a failover to a replica, or by an
 * operator whose disk is nearly full. It answers every read.
 */
import { asDatabaseRoot, restoreSettings } from '../../environment/database-root.ts';
import type { Fault } from '../fault.ts';

export const readOnlyDatabase = (name: string): Fault => ({
  name: `make ${name} read-only`,
  async inject(lab) {
    const data = lab.dataFolder(name);
    await asDatabaseRoot(data, (root) => root.query('SET GLOBAL read_only = ON'));
    return () => restoreSettings(data);
  },
});

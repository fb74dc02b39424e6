/**
 * The database has no space for an order: every insert of one is answered with the error of a full
 * table (1114), by a trigger. A server whose disk is full answers the same, and takes small changes
 * of rows that it has.
 */
import { asDatabaseRoot, fullTrigger, restoreSettings } from '../../environment/database-root.ts';
import { databaseName } from '../../environment/servers/database.ts';
import type { Fault } from '../fault.ts';

const full = "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'The table is full'";

export const fullDatabase = (name: string): Fault => ({
  name: `fill ${name}`,
  async inject(lab) {
    const data = lab.dataFolder(name);
    const create = `CREATE TRIGGER ${fullTrigger} BEFORE INSERT ON ${databaseName}.orders`;
    await asDatabaseRoot(data, (root) => root.query(`${create} FOR EACH ROW ${full}`));
    return () => restoreSettings(data);
  },
});

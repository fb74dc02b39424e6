/** The table of drills: a new one is a file and a row. */
import { acceptedIsNotSold } from './accepted-is-not-sold.ts';
import { aliveNotConsuming } from './alive-not-consuming.ts';
import { changedSale } from './changed-sale.ts';
import { mysqlAway, mysqlFull, mysqlReadOnly, redisFull } from './database-outage.ts';
import type { Drill } from './drill.ts';
import { durability } from './durability.ts';
import { floodDrill } from './flood.ts';
import { flushDuringRush } from './flush-during-rush.ts';
import { hotVoucher } from './hot-voucher.ts';
import { hungMaster } from './hung-master.ts';
import { k6Failover } from './k6-failover.ts';
import { killStorm } from './kill-storm.ts';
import { stopMasters } from './lock-outages.ts';
import { lockStormDrill } from './lock-storm.ts';
import { pausedFailover } from './paused-failover.ts';
import { raceDrills } from './race-drills.ts';
import { waitingRoom } from './waiting-room.ts';
import { workersScaleOut } from './workers-scale-out.ts';

export const drills = {
  'kill-storm': killStorm,
  'stop-masters': stopMasters,
  'k6-failover': k6Failover,
  ...raceDrills,
  'lock-storm': lockStormDrill,
  'hung-master': hungMaster,
  'alive-not-consuming': aliveNotConsuming,
  'accepted-is-not-sold': acceptedIsNotSold,
  durability,
  'mysql-away': mysqlAway,
  'mysql-read-only': mysqlReadOnly,
  'mysql-full': mysqlFull,
  'redis-full': redisFull,
  'paused-failover': pausedFailover,
  'flush-during-rush': flushDuringRush,
  'workers-scale-out': workersScaleOut,
  'hot-voucher': hotVoucher,
  'changed-sale': changedSale,
  'waiting-room': waitingRoom,
  flood: floodDrill,
} as const satisfies Record<string, Drill>;
export type DrillName = keyof typeof drills;
export const drillNames = Object.keys(drills) as DrillName[];
export const isDrillName = (name: string): name is DrillName => Object.hasOwn(drills, name);

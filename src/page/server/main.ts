/** The process of the page. Argument: the folder of its lab. */

import { serve } from '@hono/node-server';
import { Lab } from '../../lab/environment/lab.ts';
import { workFolders } from '../../lab/environment/work-folders.ts';
import { labError } from '../../lab/errors.ts';
import { pageApp } from './app.ts';
import { Plays } from './plays.ts';
import { RoomDoor } from './room-door.ts';
import { Runs } from './runs.ts';

/** A viewer who has gone gives the lab back. */
const idleMs = 15 * 60_000;

const [folder = ''] = process.argv.slice(2);
const lab = Lab.find(folder);
if (!lab) throw labError('LAB_NOT_RUNNING');
const { host, port } = new URL(lab.pageUrl);
const plays = new Plays(folder);
const runs = new Runs(folder, workFolders(process.env).runsFolder, plays);
setInterval(() => void plays.leaveAfter(idleMs).catch(console.error), 30_000).unref();
const door = new RoomDoor({ folder, port: Number(port), plays });
const { fetch } = pageApp({ folder, host, plays, runs, door });
serve({ fetch, port: Number(port), hostname: '127.0.0.1' });

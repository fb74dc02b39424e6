/** The process of the page. Argument: the folder of its lab. */

import { Lab } from '../../lab/environment/lab.ts';
import { workFolders } from '../../lab/environment/work-folders.ts';
import { labError } from '../../lab/errors.ts';
import { servePage } from './app.ts';

/** A viewer who has gone gives the lab back. */
const idleMs = 15 * 60_000;

const [folder = ''] = process.argv.slice(2);
const lab = Lab.find(folder);
if (!lab) throw labError('LAB_NOT_RUNNING');
const { host, port } = new URL(lab.pageUrl);
const { runsFolder } = workFolders(process.env);
const { plays } = servePage({ folder, runsFolder, host, port: Number(port) });
setInterval(() => void plays.leaveAfter(idleMs).catch(console.error), 30_000).unref();

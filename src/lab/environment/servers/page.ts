/** The page of the lab: a process of its own, which plays what its viewers choose. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Server } from './server.ts';

const entry = fileURLToPath(new URL('../../../../dist/page/server/main.js', import.meta.url));

export const pageName = 'page';

export const pageServer = (folder: string, port: number): Server => ({
  name: pageName,
  port,
  program: () => ({
    command: process.execPath,
    args: [entry, folder],
    logFile: join(folder, `${pageName}.log`),
  }),
  answers: async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok,
});

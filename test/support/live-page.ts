/** The page on the lab of this worker, as `lockstep page` serves it, and a browser for it. */
import { once } from 'node:events';
import { type ServerType, serve } from '@hono/node-server';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { freePorts } from '../../src/lab/environment/ports.ts';
import { addressWithKey } from '../../src/page/access.ts';
import { pageApp } from '../../src/page/server/app.ts';
import { Plays } from '../../src/page/server/plays.ts';
import { RoomDoor } from '../../src/page/server/room-door.ts';
import { Runs } from '../../src/page/server/runs.ts';
import { type Opened, openTab, startBrowser } from './browser.ts';
import { ownLab } from './own-lab.ts';

const { folder } = ownLab;

class LivePage {
  port = 0;
  browser!: Browser;
  plays!: Plays;
  runs!: Runs;
  readonly #runsFolder: string;
  #close = async () => {};

  constructor(runsFolder: string) {
    this.#runsFolder = runsFolder;
  }

  get host(): string {
    return `lab-test.localhost:${this.port}`;
  }

  async start(): Promise<void> {
    const { host, port } = this;
    const plays = new Plays(folder);
    const runs = new Runs(folder, this.#runsFolder, plays);
    const door = new RoomDoor({ folder, port, plays });
    const { fetch } = pageApp({ folder, host, plays, runs, door });
    const server: ServerType = serve({ fetch, port, hostname: '127.0.0.1' });
    await once(server, 'listening');
    this.plays = plays;
    this.runs = runs;
    this.#close = async () => {
      await door.close();
      await Promise.all([plays.leave(), runs.stop()]);
      if ('closeAllConnections' in server) server.closeAllConnections();
      server.close();
    };
  }

  stop(): Promise<void> {
    return this.#close();
  }

  /** @returns the address of a path, with a key that is used once */
  async keyed(path = '/'): Promise<string> {
    const { origin, hash } = new URL(await addressWithKey(folder, `http://${this.host}`));
    return `${origin}${path}${hash}`;
  }

  /** The page, at a path, with a session. */
  async open(path: string, more: Opened = {}): Promise<Page> {
    const tab = await openTab(this.browser, await this.keyed(path), more);
    await tab.locator('[data-connection=open]').waitFor();
    return tab;
  }
}

/** For the tests of a file. @param runsFolder where the reports of its runs are kept */
export function livePage(preferredPort: number, runsFolder = ''): LivePage {
  const page = new LivePage(runsFolder);
  beforeAll(async () => {
    page.port = await freePorts(preferredPort);
    page.browser = await startBrowser();
    await page.start();
  });
  afterAll(async () => {
    await page.browser.close();
    await page.stop();
  });
  return page;
}

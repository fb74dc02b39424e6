/**
 * The sentences of the course notes that no race and no drill tries. docs/course.md lists all of
 * them.
 */
import { randomUUID } from 'node:crypto';
import { type Bilingual, joinedTexts, ofName } from '../stage/result.ts';
import type { Experiment } from '../stage/stage.ts';
import type { Erratum } from './erratum.ts';
import { idErrata } from './id-errata.ts';
import { lockErrata } from './lock-errata.ts';
import { queueErrata } from './queue-errata.ts';
import { rabbitmqErrata } from './rabbitmq-errata.ts';
import { scriptErrata } from './script-errata.ts';
import { sqlErrata } from './sql-errata.ts';

export const errata = {
  ...scriptErrata,
  ...lockErrata,
  ...sqlErrata,
  ...idErrata,
  ...queueErrata,
  ...rabbitmqErrata,
} as const satisfies Record<string, Erratum>;
export type ErratumName = keyof typeof errata;
export const erratumNames = Object.keys(errata) as ErratumName[];

export const isErratumName = (name: string): name is ErratumName => Object.hasOwn(errata, name);

export interface PlayedErratum {
  readonly name: ErratumName;
  readonly lines: readonly Bilingual[];
  readonly isShown: boolean;
}

/** Plays errata on the real servers of the lab. `held`: each was shown. */
export const erratumExperiment: Experiment<
  { readonly names: readonly ErratumName[] },
  readonly PlayedErratum[]
> = {
  about: {
    en: 'sentences of the course notes, tried on real servers',
    zh: '课程笔记里的话，在真实服务器上验证',
  },
  async play(stage, { names }) {
    await stage.connect();
    const { connections } = stage;
    connections.redis('admin');
    connections.redis('lock');
    connections.zookeeper();
    await connections.ready();
    const played: PlayedErratum[] = [];
    for (const name of names) {
      const erratum: Erratum = errata[name];
      const lines: Bilingual[] = [];
      stage.note({ en: `${name} …`, zh: `${name} ……` });
      const tell = (en: string, zh: string) => void lines.push({ en, zh });
      const key = `erratum-${randomUUID()}`;
      const isShown = await erratum.play({ stage, redis: connections.redis('admin'), key, tell });
      played.push({ name, lines, isShown });
    }
    const notShown = played.filter(({ isShown }) => !isShown);
    return {
      verdict: notShown.length === 0 ? 'held' : 'violated',
      reasons: notShown.map(({ name, lines }) =>
        ofName({ en: `${name} was not shown`, zh: `没有演示出 ${name}` }, joinedTexts(lines)),
      ),
      figures: { shown: played.length - notShown.length },
      facts: [],
      own: played,
    };
  },
};

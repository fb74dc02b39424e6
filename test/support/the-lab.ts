/**
 * The lab that all tests on real servers share, in the shape that a file of them needs; as it was,
 * when they are over.
 */
import { afterAll, beforeAll } from 'vitest';
import { defaultShape, Lab } from '../../src/lab/environment/lab.ts';
import type { ServiceShape } from '../../src/lab/environment/servers/service.ts';
import { ownLab } from './own-lab.ts';

export function theLab(shape: ServiceShape = defaultShape): () => Lab {
  let lab: Lab | null = null;
  const running = () => {
    lab ??= Lab.running(ownLab.folder);
    if (!lab) throw new Error('the lab is gone');
    return lab;
  };
  beforeAll(() => running().ensure(shape));
  afterAll(() => running().ensure(defaultShape));
  return running;
}

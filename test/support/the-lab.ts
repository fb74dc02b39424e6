/** The lab of this worker, for a file of tests that needs more of it than its address. */
import { defaultShape, Lab } from '../../src/lab/environment/lab.ts';
import type { ServiceShape } from '../../src/lab/environment/servers/service.ts';
import { needShape, ownLab } from './own-lab.ts';

/** @param shape in which the lab is when the first test begins; null: as it was left. */
export function theLab(shape: ServiceShape | null = defaultShape): () => Lab {
  needShape(shape);
  let lab: Lab | null = null;
  return () => {
    lab ??= Lab.running(ownLab.folder);
    if (!lab) throw new Error('the lab is gone');
    return lab;
  };
}

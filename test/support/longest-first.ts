/** The longest files of a group begin first, so that none of them runs alone at the end. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** In this order. Those that are not named take less than half a minute. */
const longest = [
  'contracts/locks',
  'drills/soak',
  'drills/races',
  'drills/rushes',
  'drills/faults',
  'drills/sentinel-network',
  'drills/alive-not-consuming',
  'drills/lock-storm',
  'contracts/queues',
  'drills/command-line',
  'integration/progress',
  'drills/race-drills',
  'drills/kill-storm',
  'drills/k6',
  'integration/sentinel',
  'integration/cluster-failover',
  'integration/add-a-rung',
  'contracts/inventories',
].map((name) => `/test/${name}.test.ts`);

const rank = ({ moduleId }: TestSpecification): number => {
  const place = longest.findIndex((name) => moduleId.endsWith(name));
  return place < 0 ? longest.length : place;
};

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rank(one) - rank(other));
  }
}

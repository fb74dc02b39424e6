/** The longest files of a project begin first, so that none of them runs alone at the end. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** In this order. Those that are not named take less than half a minute. */
const longest = [
  'contracts/locks',
  'integration/page',
  'drills/races',
  'integration/dead-letters',
  'contracts/queues',
  'long/mutants',
  'long/drills',
  'long/page-runs',
  'long/k6',
  'long/bench',
  'long/alerts',
  'long/soak',
  'long/rushes',
  'long/races',
  'long/faults',
  'long/lock-storm',
  'long/progress',
  'long/accepted-is-not-sold',
  'drills/command-line',
  'long/sentinel-network',
  'long/conformance',
  'integration/order-worker',
  'long/k6-failover',
  'long/kill-storm',
  'long/race-mutants',
  'long/sentinel',
  'drills/rushes',
  'drills/race-drills',
  'integration/consumers',
  'contracts/inventories',
].map((name) => `/test/${name}.test.ts`);

/** Files of one project follow each other: a worker loads its modules anew for another project. */
const projects = ['contracts', 'drills', 'security', 'integration'];

const rank = ({ moduleId, project }: TestSpecification): number => {
  const place = longest.findIndex((name) => moduleId.endsWith(name));
  const group = projects.indexOf(project.name) * longest.length * 2;
  return group + (place < 0 ? longest.length : place);
};

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rank(one) - rank(other));
  }
}

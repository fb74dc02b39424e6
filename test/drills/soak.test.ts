/** Half a minute of the soak; test/long has three. */
import { testSoak } from '../support/soak-test.ts';

testSoak(0.5);

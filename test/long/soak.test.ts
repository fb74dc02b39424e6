/** Three minutes of the soak. */
import { testSoak } from '../support/soak-test.ts';

testSoak(3);

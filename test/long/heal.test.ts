/** Each fault that a drill can inject is mended by `lab.heal()` too. */
import { testMending } from '../support/fault-cases.ts';

testMending('lab.heal()');

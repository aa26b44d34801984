// FaultySensor: a sensor half whose samples pass through seeded faults. It ships in the product,
// so that a user can see what the runtime does when a sensor fails, and tests use the same thing.
//
// Equal seed, equal faults and equal samples give equal results, bit for bit. Faults act in the
// order given. What a fault withholds leaves no trace: the record keeps what was last delivered.

import { assert } from "../runtime/contracts/assert.ts";
import type { SourceProfile } from "../runtime/contracts/profile.ts";
import { sampleSlotCount } from "../runtime/contracts/sample.ts";
import type { SensorSnapshot } from "../runtime/contracts/sample.ts";
import { SeededRandom } from "../runtime/contracts/seeded-random.ts";
import { elapsed, instant } from "../runtime/contracts/units.ts";
import type { Instant } from "../runtime/contracts/units.ts";
import type { FaultSpec } from "./fault-spec.ts";
import type { RobotSensor } from "./robot.ts";
import { sensorFault } from "./sensor-fault.ts";
import type { SensorFault } from "./sensor-fault.ts";

// A stream per fault: seeds of 2^32 and 2^20 faults give different whole numbers below 2^53.
const SEED_COUNT = 4_294_967_296;
const FAULT_COUNT_MAX = 1_048_576;

export class FaultySensor implements RobotSensor {
  /** In the order in which they act, with what each has struck so far. */
  readonly faults: readonly SensorFault[];
  readonly #sensor: RobotSensor;
  readonly #delivered: readonly Float64Array[];
  #hasOrigin = false;
  #originNs = instant(0);

  constructor(
    sensor: RobotSensor,
    sources: readonly SourceProfile[],
    specs: readonly FaultSpec[],
    seed: number,
  ) {
    assert(specs.length < FAULT_COUNT_MAX, "the faults can be numbered");
    this.#sensor = sensor;
    this.faults = specs.map((spec, index) => {
      const source = sources[spec.sourceIndex];
      assert(source !== undefined, "a fault names a source of this robot");
      const random = new SeededRandom((seed % SEED_COUNT) * FAULT_COUNT_MAX + index);
      return sensorFault(spec, source, random);
    });
    this.#delivered = sources.map((source) => new Float64Array(sampleSlotCount(source)));
  }

  observeInto(snapshot: SensorSnapshot, nowNs: Instant): void {
    this.#sensor.observeInto(snapshot, nowNs);
    if (!this.#hasOrigin) this.#originNs = nowNs;
    this.#hasOrigin = true;
    const sinceNs = elapsed(this.#originNs, nowNs);
    for (let index = 0; index < this.faults.length; index += 1) {
      this.faults[index]!.apply(snapshot, nowNs, sinceNs);
    }
    for (let index = 0; index < this.#delivered.length; index += 1) {
      const delivered = this.#delivered[index]!;
      const { record } = snapshot.samples[index]!;
      if (snapshot.arrived[index] === 1) delivered.set(record);
      else record.set(delivered);
    }
  }
}

// StopProfile: how a moving command comes to rest as fast as limits of acceleration and jerk allow,
// and how far it goes on meanwhile. One rule, `brakeChange`, brakes; `trace` adds up what that very
// rule will do, in closed form where it can, so that what is promised is what happens.
//
// All is counted per tick: a *stride* is what a position gains in a tick, a *change* what a stride
// gains, *jerk* the most that a change may gain. So all three are in rad, and ticks are exact.

/** No stop within sane limits ramps up for so many ticks; past it the way counts as endless. */
const TICKS_MAX = 10_000;

/**
 * The highest first step from which steps that shrink by `shrink` each still add up to no more than
 * `sum`, which is not negative. Whoever starts so needs exactly one `shrink` per step, and lands.
 */
export function taperFrom(sum: number, shrink: number): number {
  const steps = taperSteps(sum, shrink);
  return (sum + (shrink * steps * (steps + 1)) / 2) / (steps + 1);
}

/** The lower of the two, `most` being positive. Costs a root only where the taper may be it. */
export function taperUpTo(most: number, sum: number, shrink: number): number {
  return outlasts(most, sum, shrink) ? most : Math.min(most, taperFrom(sum, shrink));
}

/** Steps from `first` on add up to no more than `sum`, for sure: they are below this parabola. */
function outlasts(first: number, sum: number, shrink: number): boolean {
  const beyond = first + shrink / 2;
  return beyond * beyond <= 2 * shrink * sum;
}

/** How many steps follow the first of that taper. */
function taperSteps(sum: number, shrink: number): number {
  return Math.floor((Math.sqrt(1 + (8 * sum) / shrink) - 1) / 2);
}

/** What the steps from `first` on, shrinking by `shrink` each, add up to. */
function taperSum(first: number, shrink: number): number {
  const steps = Math.floor(first / shrink);
  return (steps + 1) * first - (shrink * steps * (steps + 1)) / 2;
}

/** What the steps after `first` add up to. */
export function taperRest(first: number, shrink: number): number {
  return taperSum(first, shrink) - first;
}

/** The change of the coming tick that stops soonest: it eases off in time to end at rest. */
export function brakeChange(
  strideRad: number,
  changeRad: number,
  changeRadMax: number,
  jerkRad: number,
): number {
  let wanted = 0;
  if (strideRad > 0) wanted = -taperUpTo(changeRadMax, strideRad, jerkRad);
  if (strideRad < 0) wanted = taperUpTo(changeRadMax, -strideRad, jerkRad);
  return clamp(wanted, changeRad - jerkRad, changeRad + jerkRad);
}

/** A brake that takes the same share of every joint's stride: a path keeps its direction. */
export function easeInto(
  out: Float64Array,
  strideRad: Float64Array,
  changeRad: Float64Array,
  changeRadMax: Float64Array,
  jerkRad: Float64Array,
): void {
  let share = 1;
  for (let joint = 0; joint < out.length; joint += 1) {
    const stride = Math.abs(strideRad[joint]!);
    if (stride === 0) continue;
    const most = taperUpTo(changeRadMax[joint]!, stride, jerkRad[joint]!);
    if (share * stride > most) share = most / stride;
  }
  let part = 1;
  for (let joint = 0; joint < out.length; joint += 1) {
    const turn = Math.abs(share * strideRad[joint]! + changeRad[joint]!);
    if (turn * part > jerkRad[joint]!) part = jerkRad[joint]! / turn;
  }
  for (let joint = 0; joint < out.length; joint += 1) {
    const wanted = -share * strideRad[joint]!;
    out[joint] = changeRad[joint]! + part * (wanted - changeRad[joint]!);
  }
}

export class StopProfile {
  /** Where the stop ends, seen from where it begins. */
  endRad = 0;
  /** The farthest it reaches on either side. */
  mostRad = 0;
  leastRad = 0;

  /** Follows the stop from here to rest. Returns where it ends. */
  trace(strideRad: number, changeRad: number, changeRadMax: number, jerkRad: number): number {
    let stride = strideRad;
    let change = changeRad;
    this.#begin();
    for (let tick = 0; tick < TICKS_MAX; tick += 1) {
      const side = stride < 0 ? -1 : 1;
      const speed = stride * side;
      // Harder by a whole jerk is still not hard enough: most ticks of a stop, and no root.
      const harder = jerkRad - side * change;
      if (harder <= 0 || (harder < changeRadMax && outlasts(harder, speed, jerkRad))) {
        change -= side * jerkRad;
        stride += change;
        this.#go(stride);
        continue;
      }
      const isLong = outlasts(changeRadMax, speed, jerkRad);
      const steps = isLong ? 0 : taperSteps(speed, jerkRad);
      const taper = (speed + (jerkRad * steps * (steps + 1)) / 2) / (steps + 1);
      const wanted = -side * (isLong ? changeRadMax : Math.min(changeRadMax, taper));
      if (Math.abs(wanted - change) > jerkRad) {
        change += wanted > change ? jerkRad : -jerkRad;
        stride += change;
        this.#go(stride);
      } else if (!isLong && taper <= changeRadMax) {
        this.#go(side * taperWay(taper, steps, jerkRad));
        return this.endRad;
      } else {
        const ticks = Math.ceil((speed - taperSum(changeRadMax, jerkRad)) / changeRadMax);
        const whole = Math.max(1, ticks);
        this.#go(side * (whole * speed - (changeRadMax * whole * (whole + 1)) / 2));
        change = wanted;
        stride -= side * whole * changeRadMax;
      }
    }
    this.#go(stride < 0 ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY);
    return this.endRad;
  }

  #begin(): void {
    this.endRad = 0;
    this.mostRad = 0;
    this.leastRad = 0;
  }

  #go(wayRad: number): void {
    this.endRad += wayRad;
    if (this.endRad > this.mostRad) this.mostRad = this.endRad;
    if (this.endRad < this.leastRad) this.leastRad = this.endRad;
  }
}

/** What the strides of a taper add up to that begins with the change `first`. */
function taperWay(first: number, steps: number, jerkRad: number): number {
  const pairs = steps * (steps + 1);
  return (first * pairs) / 2 - (jerkRad * pairs * (2 * steps + 1)) / 6;
}

/**
 * No stop from here reaches farther, to either side. Costs no root and no loop. From its highest
 * speed a stop takes `peak / max + max / jerk` ticks and half of that is its mean way; before it
 * come the ticks that ease the present change off, and whole ticks add less than two.
 */
export function stopWayBound(
  strideRad: number,
  changeRad: number,
  changeRadMax: number,
  jerkRad: number,
): number {
  const change = Math.abs(changeRad);
  const peak = Math.abs(strideRad) + (change * change) / (2 * jerkRad);
  return peak * ((change + changeRadMax / 2) / jerkRad + 2 + peak / (2 * changeRadMax));
}

export function clamp(value: number, min: number, max: number): number {
  if (value < min) return min;
  if (value > max) return max;
  return value;
}

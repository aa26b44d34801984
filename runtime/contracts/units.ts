// Unit brands: the compiler keeps radians out of seconds, and nothing remains at run time.
// Every cast to a brand lives here; `scripts/tidy.ts` rejects them in every other file.

declare const unit: unique symbol;
type Unit<U extends string> = { readonly [unit]: U };

/** A moment, in whole ns since the session origin. Exact up to 2^53 ns, which is 104 days. */
export type Instant = number & Unit<"instant ns">;
/** A length of time in whole ns. */
export type Duration = number & Unit<"duration ns">;
/** One value per joint, in profile order, rad. A velocity vector is not assignable to it. */
export type RadVec = Float64Array & Unit<"rad">;
/** One value per joint, in profile order, rad/s. */
export type RadPerSVec = Float64Array & Unit<"rad/s">;
/** One value per joint, in profile order, Nm. */
export type NmVec = Float64Array & Unit<"Nm">;
/** One value per joint in the robot's own command space: rad, or rad/s for velocity joints. */
export type CommandVec = Float64Array & Unit<"command">;

export const NS_PER_S = 1_000_000_000;
export const NS_PER_MS = 1_000_000;
export const NS_PER_US = 1_000;

export const instant = (ns: number): Instant => ns as Instant;
export const duration = (ns: number): Duration => ns as Duration;
export const elapsed = (from: Instant, to: Instant): Duration => (to - from) as Duration;
export const milliseconds = (ms: number): Duration => Math.round(ms * NS_PER_MS) as Duration;
export const radVec = (slots: Float64Array): RadVec => slots as RadVec;
export const radPerSVec = (slots: Float64Array): RadPerSVec => slots as RadPerSVec;
export const nmVec = (slots: Float64Array): NmVec => slots as NmVec;
export const commandVec = (slots: Float64Array): CommandVec => slots as CommandVec;

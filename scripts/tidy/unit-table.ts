// What a number may be called, as data: the unit suffixes, the qualifiers that may follow them, and
// the words that need no unit because they count, index or name something.

/** Suffixes in camel case, as they end a name: `stampNs`, `velocityRadPerSMax` before its `Max`. */
export const unitSuffixes: readonly string[] = [
  ...["Ns", "Us", "Ms", "S"],
  ...["Hz", "Ppm", "Baud"],
  ...["Rad", "RadPerS", "RadPerS2", "RadPerS3", "RadPerNs"],
  ...["Nm", "NmPerRad", "NmSPerRad", "N", "M", "M2", "M3", "MPerS", "MPerS2", "Mm", "Kg", "KgM2"],
  ...["A", "V", "W", "C"],
  ...["Ratio", "Ratios", "Count", "Bytes", "Px"],
];

/** May follow a unit, and may stand alone inside a field whose own name has the unit. */
export const qualifiers: readonly string[] = [
  ...["Min", "Max", "From", "Until", "Total", "Asked", "Achieved", "Mean"],
  ...["P50", "P90", "P95", "P99", "P999"],
];

/** A number whose name ends with one of these is no quantity. */
export const plainWords: readonly string[] = [
  ...["index", "seq", "epoch", "tick", "ticks", "slot", "row", "rows", "line", "column", "joint"],
  ...["version", "seed", "code", "reason", "mode", "cue", "kind", "bit", "bits", "mask", "status"],
  ...[
    "id",
    "port",
    "pid",
    "uid",
    "fd",
    "priority",
    "cpu",
    "session",
    "repairs",
    "generation",
    "signal",
  ],
  ...["x", "y", "z", "w", "axis", "wxyz", "rgba", "shape", "offset", "width", "height"],
  ...["horizon", "factor", "score", "reward", "gain", "words", "fingerprint"],
];

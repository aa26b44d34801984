// Versions of what crosses a border. A slot that changes its meaning raises its number; replay and
// artifacts compare them before anything moves.

export const SAMPLE_SCHEMA_VERSION = 1;
export const STATE_SCHEMA_VERSION = 1;
export const ACTION_SCHEMA_VERSION = 1;
export const COMMAND_SCHEMA_VERSION = 1;
export const TICK_SCHEMA_VERSION = 1;
export const PROFILE_SCHEMA_VERSION = 1;

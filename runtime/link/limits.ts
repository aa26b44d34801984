// Every limit of the policy link, with its reason. What lies outside is refused or given up, and
// told by name.

import { milliseconds } from "../contracts/units.ts";

/** Raised when a message changes its meaning. Both sides must speak the same. */
export const PROTOCOL_VERSION = 1;

/** From dialling to an open stream. A peer that accepts and says nothing is given up. */
export const DIAL_NS_MAX = milliseconds(1_000);
/** From hello to welcome, or to a host's word that it loads: no work is done between them. */
export const GREETING_NS_MAX = milliseconds(1_000);
/** A host that closes waits so long for the last words to go out: a peer may be gone. */
export const CLOSE_MS_MAX = 200;
/** Of a host's health: orchestrators and people at it, more than one each. */
export const HEALTH_WATCHER_COUNT_MAX = 16;
/** A policy that loads and warms up: models compile for minutes. Then its host gives it up. */
export const LOAD_NS_MAX = milliseconds(600_000);
/** The robot gives up later than its host, which says why. */
export const HOST_LOAD_NS_MAX = milliseconds(660_000);
/** A question that keeps the line alive, and measures it. */
export const PING_NS = milliseconds(150);
/**
 * Nothing heard for so long is a dead peer. With a ping under way it is known 750 ms after the last
 * sign of life at the latest.
 */
export const SILENCE_NS_MAX = milliseconds(600);
/** How often a host looks whether each robot still talks, and how often in vain: 750 ms. */
export const HOST_LOOK_MS = 50;
export const SILENT_LOOK_COUNT_MAX = 15;
/** Robots on one host at once: each has a thread, and its policy in memory. */
export const ROBOT_COUNT_MAX = 64;
/** A connection to a host on which nobody asks anything is ended. */
export const IDLE_CONNECTION_MS_MAX = 5_000;
/** Redialling: at once after a session that worked, then doubling up to a second. */
export const BACKOFF_NS_MIN = milliseconds(50);
export const BACKOFF_NS_MAX = milliseconds(1_000);

/** A chunk of 64 rows of 16 is 4 KiB; whatever is larger than this is no answer. */
export const RECEIVE_SIZE_BYTES_MAX = 1 << 20;
/** Four raw pictures of 224 × 224 are 600 KB. */
export const SEND_SIZE_BYTES_MAX = 8 << 20;
/**
 * Of the scene of the SO-101 with objects: 12 KB instead of 150, and a mean error of 2 levels of
 * 255. At 100 it is 32 KB and 1.1: what is left then is colour at half the size, which none mends.
 */
export const JPEG_QUALITY_PERCENT = 90;
/** Of one observation: a robot has a few cameras, and each costs a millisecond and 150 KB here. */
export const JPEG_COUNT_MAX = 16;
/**
 * A host tells what ails its policy as it changes, and no more often: it may fail at every act. So
 * does a robot what its host is made of, which may be another at every session.
 */
export const TROUBLE_NS_MIN = milliseconds(1_000);

/** Texts from the other side are cut to this before a person sees them. */
export const TEXT_CHARACTERS_MAX = 300;

/** Of a host, the versions of what it is made of that a person is told. */
export const VERSION_COUNT_MAX = 8;

/** Answers that the delay is told from; pings that the clock's offset is told from. */
export const DELAY_COUNT = 8;
export const PING_COUNT = 8;

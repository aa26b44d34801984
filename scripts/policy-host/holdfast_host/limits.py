"""Every limit of this host, with its reason; those of the protocol are the robot's own."""

# Raised when a message changes its meaning. Both sides must speak the same.
PROTOCOL_VERSION = 1

# Rows a chunk may have at most, how far apart, and values a row may have: an edge refuses more.
HORIZON_MAX = 64
DT_NS_MAX = 1_000_000_000
WIDTH_MAX = 16

# An edge sends pictures (four raw ones of 224 x 224 are 600 KB) and gets numbers.
RECEIVE_SIZE_BYTES_MAX = 8 << 20
SEND_SIZE_BYTES_MAX = 1 << 20

# Pictures of one observation that are JPEG: each costs a millisecond and 150 KB here.
JPEG_COUNT_MAX = 16

# Robots at once; those that only ask what runs here are few.
STREAM_COUNT_MAX = 64
DESCRIBE_COUNT_MAX = 4

# A connection on which nobody asks anything, or that does not get as far as that, is ended.
IDLE_CONNECTION_MS_MAX = 5_000

# Each that watches the host's health holds a thread. Their last words go out within so long.
HEALTH_WATCHER_COUNT_MAX = 4
CLOSE_S_MAX = 0.2

# A policy that loads and warms up: models compile for minutes. Then it is given up. A person hears
# of one that loads after the second, and again each time that doubles.
LOAD_NS_MAX = 600_000_000_000
TELL_NS = 2_000_000_000

# How often it is looked whether each robot still talks, and how often in vain: 750 ms.
LOOK_S = 0.05
SILENT_LOOK_COUNT_MAX = 15

# Messages that wait for a robot to read them. One that reads none for so long is given up.
UNREAD_COUNT_MAX = 256

# A robot is told what ails its policy as it changes, and no more often: it may fail at every act.
TROUBLE_NS_MIN = 1_000_000_000

# Text of the other side is cut to this before a person sees it.
TEXT_CHARACTERS_MAX = 300

# Policies kept loaded for robots that left: one that comes back need not wait for its model.
IDLE_COUNT_MAX = 4

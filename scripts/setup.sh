# Set-up shared by scripts/run, scripts/test and scripts/build: finds or fetches Bun of the pinned
# version, installs the packages of bun.lock, and leaves the paths in ROOT and BUN.
# Sourced, never run. Needs no root, writes only under the clone, and speaks on stderr only when
# it has something to do. Two of them at once wait for each other.

ROOT="$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)"
BUN=""
BUN_VERSION="$(sed -n 's/.*"packageManager": *"bun@\([^"]*\)".*/\1/p' "$ROOT/package.json")"
BUN_PACKAGE=""
INSTALLED="$ROOT/node_modules/.installed-bun.lock"

# The caches too stay under the clone.
export BUN_INSTALL_CACHE_DIR="$ROOT/.tools/bun-cache"
export BUN_RUNTIME_TRANSPILER_CACHE_PATH="$ROOT/.tools/bun-transpiled"

say() { printf 'set-up: %s\n' "$*" >&2; }

fail() {
  printf 'set-up failed: %s\n' "$*" >&2
  exit 1
}

# The package that holds the Bun executable of this machine.
choose_package() {
  [ "$(uname -s)" = Linux ] || fail "Cannot run on $(uname -s): Holdfast needs Linux"
  case "$(uname -m)" in
    x86_64)
      BUN_PACKAGE=bun-linux-x64
      grep -q avx2 /proc/cpuinfo || BUN_PACKAGE=bun-linux-x64-baseline
      ;;
    aarch64) BUN_PACKAGE=bun-linux-aarch64 ;;
    *) fail "Cannot run on $(uname -m): expected x86_64 or aarch64" ;;
  esac
}

has_pinned_version() { [ "$("$1" --version 2>/dev/null)" = "$BUN_VERSION" ]; }

fetched_bun() { printf '%s' "$ROOT/.tools/node_modules/@oven/$BUN_PACKAGE/bin/bun"; }

# Sets BUN when a Bun of the pinned version is on the PATH or under .tools/.
find_bun() {
  local candidate
  for candidate in "$(command -v bun || true)" "$(fetched_bun)"; do
    if [ -x "$candidate" ] && has_pinned_version "$candidate"; then
      BUN="$candidate"
      return 0
    fi
  done
  return 1
}

fetch_bun() {
  local pins="$ROOT/scripts/bun-packages.json" expected found
  command -v npm >/dev/null ||
    fail "Cannot fetch Bun $BUN_VERSION: neither it nor npm is on the PATH." \
      "Remedy: sudo apt-get install npm, or install Bun $BUN_VERSION from https://bun.com"
  say "fetching Bun $BUN_VERSION into .tools/ (about 35 MB, once)"
  # The package itself, not "bun": that one has a postinstall script which moves files.
  npm install --prefix "$ROOT/.tools" --cache "$ROOT/.tools/npm-cache" \
    --no-audit --no-fund --no-update-notifier --loglevel=error \
    "@oven/$BUN_PACKAGE@$BUN_VERSION" >&2 9>&- ||
    fail "Cannot fetch Bun $BUN_VERSION: npm could not install it (its words are above)." \
      "The first run needs the npm registry; later runs work offline"
  expected="$(sed -n "s/.*\"$BUN_PACKAGE\": *\"\([0-9a-f]*\)\".*/\1/p" "$pins")"
  found="$(sha256sum "$(fetched_bun)" | cut -d ' ' -f 1)"
  if [ "$found" != "$expected" ]; then
    rm -rf "$ROOT/.tools/node_modules"
    fail "Cannot trust the fetched Bun $BUN_VERSION: expected SHA-256 $expected, found $found"
  fi
  BUN="$(fetched_bun)"
  has_pinned_version "$BUN" || fail "Cannot start $BUN on this machine: it needs a glibc Linux"
}

# No package runs a script of its own here. Without the summary Bun does not tell that it blocked
# one (of protobufjs, which onnxruntime-web brings along: it only compares version numbers).
INSTALL_OPTIONS=(--frozen-lockfile --ignore-scripts --no-summary)

# A copy of bun.lock marks a finished installation, so an interrupted one is done again.
packages_are_installed() { cmp -s "$ROOT/bun.lock" "$INSTALLED"; }

install_packages() {
  say "installing the packages of bun.lock"
  rm -f "$INSTALLED"
  (cd "$ROOT" && "$BUN" install "${INSTALL_OPTIONS[@]}" >&2 9>&-) ||
    fail "Cannot install the packages of bun.lock: Bun's words are above." \
      "The first run needs the npm registry; later runs work offline"
  cp "$ROOT/bun.lock" "$INSTALLED"
}

set_up() {
  choose_package
  if find_bun && packages_are_installed; then return; fi
  mkdir -p "$ROOT/.tools" || fail "Cannot write $ROOT/.tools: run as the owner of the clone"
  exec 9>"$ROOT/.tools/setup.lock"
  if ! flock --nonblock 9; then
    say "waiting for another set-up of this clone"
    flock 9
  fi
  find_bun || fetch_bun
  packages_are_installed || install_packages
  exec 9>&-
}

set_up

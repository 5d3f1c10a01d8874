# What the scripts share; sourced, not run. Sets `root`, the top of the tree, whatever the caller's folder.
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)

# As many compilers as there are cores, but no more than memory carries: about 1 GiB each.
parallel_jobs() {
  local cores gibibytes
  cores=$(nproc)
  gibibytes=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)
  ((gibibytes < 1)) && gibibytes=1
  echo $((cores < gibibytes ? cores : gibibytes))
}

fail() {
  echo "$(basename -- "$0"): $*" >&2
  exit 1
}

configure() {
  # From the top of the tree: that is where cmake looks for its presets.
  (cd -- "$root" && cmake --preset "$1" >/dev/null)
}

# build PRESET [TARGET...]: configures and builds; without a target, everything.
build() {
  local preset=$1
  shift
  configure "$preset"
  cmake --build "$root/build/$preset" --parallel "$(parallel_jobs)" ${1:+--target "$@"}
}

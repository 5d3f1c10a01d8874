// For a test in which a thread vanishes, and what it held with it: tells LeakSanitizer not to count
// that as leaked. Any thread. Include it in one file of a program.
#pragma once

namespace danaus::testing {

inline bool leaks_are_forgiven = false;

/// From here to the end of this process.
inline void forgive_leaks() {
  leaks_are_forgiven = true;
}

}  // namespace danaus::testing

/// Asked by LeakSanitizer at the end of the process, where there is one; hence its name.
extern "C" [[gnu::used]] inline int __lsan_is_turned_off() {  // NOLINT
  return danaus::testing::leaks_are_forgiven ? 1 : 0;
}

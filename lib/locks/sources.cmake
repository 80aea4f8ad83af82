# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# Relative to lib/; one source to a line, sorted.
target_sources(
  tenure
  PRIVATE
    locks/held_key.cpp
    locks/held_key_waiters.cpp
    locks/hold.cpp
    locks/hold_handler.cpp
    locks/holder.cpp
    locks/holder_state.cpp
    locks/reentrant_lock.cpp
)

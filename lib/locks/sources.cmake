# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# Relative to lib/; one source to a line, sorted.
target_sources(
  tenure
  PRIVATE
    locks/election.cpp
    locks/held_key.cpp
    locks/held_key_waiters.cpp
    locks/held_set.cpp
    locks/hold.cpp
    locks/holder.cpp
    locks/holder_state.cpp
    locks/joined_token.cpp
    locks/lease_set.cpp
    locks/multi_acquisition.cpp
    locks/multi_lock.cpp
    locks/ordered_locks.cpp
    locks/reentrant_lock.cpp
    locks/segmented_lock.cpp
    locks/segments.cpp
    locks/view.cpp
    locks/view_cache.cpp
    locks/view_handle.cpp
    locks/view_reader.cpp
)

# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# What lies in lib/ itself; relative to lib/; one source to a line, sorted.
target_sources(
  tenure
  PRIVATE
    acquirable.cpp
    cancellation_token.cpp
    clock.cpp
    connect.cpp
    errc.cpp
    handler_batch.cpp
    key_range.cpp
    lease.cpp
    lock.cpp
    log.cpp
    log_queue.cpp
    owner_text.cpp
    recycling_allocator.cpp
    runtime.cpp
    slot.cpp
    slot_pool.cpp
    store.cpp
    strand.cpp
    version.cpp
)

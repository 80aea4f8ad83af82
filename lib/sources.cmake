# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# What lies in lib/ itself; relative to lib/; one source to a line, sorted.
target_sources(
  tenure
  PRIVATE
    cancellation_token.cpp
    clock.cpp
    connect.cpp
    errc.cpp
    etcd_store.cpp
    handler_batch.cpp
    key_range.cpp
    lease.cpp
    lock.cpp
    log.cpp
    memory_store.cpp
    recycling_allocator.cpp
    redis_cluster_store.cpp
    redis_sentinel_store.cpp
    redis_store.cpp
    redlock_store.cpp
    slot.cpp
    slot_pool.cpp
    store.cpp
    strand.cpp
    url.cpp
    version.cpp
)
